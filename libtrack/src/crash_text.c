#define _GNU_SOURCE
#include "crash_text.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void add_byte(struct crash_text *text, char byte)
{
    if (text->used < sizeof text->bytes)
        text->bytes[text->used++] = byte;
}

void trk_crash_text_add(struct crash_text *text, const char *words)
{
    for (; *words != '\0'; words++)
        add_byte(text, *words);
}

static void add_number(struct crash_text *text, uint64_t number, unsigned base, unsigned digits)
{
    char reversed[24];
    unsigned count = 0;
    do {
        reversed[count++] = "0123456789abcdef"[number % base];
        number /= base;
    } while (number != 0);
    while (count < digits && count < sizeof reversed)
        reversed[count++] = '0';
    while (count > 0)
        add_byte(text, reversed[--count]);
}

void trk_crash_text_hex(struct crash_text *text, uint64_t number, unsigned digits)
{
    add_number(text, number, 16, digits);
}

void trk_crash_text_decimal(struct crash_text *text, int64_t number)
{
    if (number < 0)
        add_byte(text, '-');
    add_number(text, number < 0 ? 0 - (uint64_t)number : (uint64_t)number, 10, 0);
}

/* What a write sends beside its error, as sets of the kernel's: bit signal - 1. */
#define SENT_BY_WRITES  (UINT64_C(1) << (SIGPIPE - 1) | UINT64_C(1) << (SIGXFSZ - 1))
#define KERNEL_SET_SIZE sizeof(uint64_t)

/* Writing without being heard: a signal that the write sent is taken back [M-60]. */
static ssize_t write_unheard(int fd, const char *bytes, size_t size)
{
    uint64_t wanted = SENT_BY_WRITES, mask = 0, before = 0, after = 0;
    struct timespec no_wait = {0, 0};
    (void)syscall(SYS_rt_sigprocmask, SIG_BLOCK, &wanted, &mask, KERNEL_SET_SIZE);
    (void)syscall(SYS_rt_sigpending, &before, KERNEL_SET_SIZE);
    ssize_t written = write(fd, bytes, size);
    int write_errno = errno;
    (void)syscall(SYS_rt_sigpending, &after, KERNEL_SET_SIZE);
    uint64_t sent = wanted & after & ~before;
    if (sent != 0)
        (void)syscall(SYS_rt_sigtimedwait, &sent, NULL, &no_wait, KERNEL_SET_SIZE);
    (void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, KERNEL_SET_SIZE);
    errno = write_errno;
    return written;
}

/* A reader may be slow, and may be gone: pieces that a pipe takes whole, each waited for so long.
 */
#define PIECE_BYTES 4096u
#define WAIT_MS     1000
#define TRIES_MOST  1000u

void trk_crash_text_write(struct crash_text *text, int fd)
{
    const char *bytes = text->bytes;
    size_t left = text->used;
    for (unsigned tries = 0; left > 0 && tries < TRIES_MOST; tries++) {
        struct pollfd room = {.fd = fd, .events = POLLOUT};
        if (poll(&room, 1, WAIT_MS) == 0)
            break;
        ssize_t written = write_unheard(fd, bytes, left < PIECE_BYTES ? left : PIECE_BYTES);
        if (written < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (written <= 0)
            break; /* nobody reads: the signal still tells */
        bytes += written;
        left -= (size_t)written;
    }
    text->used = 0;
}
