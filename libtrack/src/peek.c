/*
 * Reading memory that may not be readable: the kernel copies, and says where it had to stop.
 *
 * Page by page, because the kernel promises no partial count inside one piece. A sandbox may forbid
 * process_vm_readv; then any call that reads user memory and refuses afterwards tells whether a
 * page can be read, and the copy is made by hand (another thread that closes the page in between is
 * the one thing that this cannot withstand).
 */
#define _GNU_SOURCE
#include "peek.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "track/address.h"

/* The kernel copies the set of signals in before it looks at how, and there is no such how. */
#define NO_SUCH_HOW      -1
#define KERNEL_SET_BYTES 8u

static bool page_readable(uint64_t host_addr)
{
    uint64_t word = host_addr & ~(uint64_t)(KERNEL_SET_BYTES - 1);
    return syscall(SYS_rt_sigprocmask, NO_SUCH_HOW, word, NULL, KERNEL_SET_BYTES) == 0 ||
           errno != EFAULT;
}

/* A piece inside one page. */
static bool peek_piece(uint64_t host_addr, void *into, size_t size_bytes)
{
    struct iovec from = {.iov_len = size_bytes};
    memcpy(&from.iov_base, &host_addr, sizeof from.iov_base);
    struct iovec to = {into, size_bytes};
    long got = syscall(SYS_process_vm_readv, getpid(), &to, 1L, &from, 1L, 0L);
    if (got >= 0)
        return (size_t)got == size_bytes;
    if (errno == EFAULT || !page_readable(host_addr))
        return false;
    memcpy(into, from.iov_base, size_bytes);
    return true;
}

size_t trk_peek(uint64_t host_addr, void *into, size_t size_bytes)
{
    int former_errno = errno;
    size_t done = 0;
    while (done < size_bytes) {
        uint64_t at = host_addr + done;
        size_t piece = (size_t)(TRK_HOST_PAGE_BYTES - at % TRK_HOST_PAGE_BYTES);
        if (piece > size_bytes - done)
            piece = size_bytes - done;
        if (!peek_piece(at, (unsigned char *)into + done, piece))
            break;
        done += piece;
    }
    errno = former_errno;
    return done;
}
