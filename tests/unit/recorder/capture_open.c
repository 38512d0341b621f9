/*
 * Goal: a program joins the session that was made for it, and refuses anything else politely, with
 * nothing changed.
 *
 * Method: the environment and the object are spoilt in one way a case; the object is made by hand,
 * so that seals and sizes can be wrong. Criterion runs each test in a process of its own.
 */
#define _GNU_SOURCE /* memfd_create, seals */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "capture_emit.h"
#include "capture_support.h"
#include "recorder/capture.h"
#include "track/address.h"

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

Test(capture_open, refuses_values_that_are_no_descriptor)
{
    static const struct {
        const char *value; /* NULL: not set */
        enum trk_status status;
    } cases[] = {
        {NULL, TRK_E_UNSUPPORTED}, {"", TRK_E_ARGUMENT},           {"x", TRK_E_ARGUMENT},
        {"-1", TRK_E_ARGUMENT},    {"3x", TRK_E_ARGUMENT},         {" 3", TRK_E_ARGUMENT},
        {"+3", TRK_E_ARGUMENT},    {"4294967299", TRK_E_ARGUMENT}, {"0x3", TRK_E_ARGUMENT},
        {"999999", TRK_E_SYSTEM},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        if (cases[i].value)
            setenv(TRK_SESSION_VARIABLE, cases[i].value, 1);
        else
            unsetenv(TRK_SESSION_VARIABLE);
        struct trk_error error = {0};
        enum trk_status status = trk_capture_open(&error);
        cr_assert_eq(status, cases[i].status, "%s gives %d", cases[i].value, status);
        cr_assert_eq(error.status, cases[i].status);
        cr_assert_neq(error.text[0], '\0');
        cr_assert_not(trk_capture_active());
        cr_assert_eq(trk_capture_open(NULL), cases[i].status, "without an error to fill");
    }
}

enum spoil {
    SPOIL_NOTHING,
    SPOIL_SEALS,
    SPOIL_TINY,
    SPOIL_MAGIC,
    SPOIL_VERSION,
    SPOIL_RING_COUNT_0,
    SPOIL_RING_COUNT_HUGE,
    SPOIL_RECORDS_ODD,
    SPOIL_RECORDS_0,
    SPOIL_RECORDS_HUGE,
    SPOIL_SIZE_FIELD,
    SPOIL_PAYLOAD_PAGES,
    SPOIL_PAYLOAD_UNKNOWN,
    SPOIL_OBJECT_SHORT,
    SPOIL_ATTACHED,
};

static void spoil_control(struct trk_session_control *control, enum spoil spoil)
{
    control->magic = TRK_SESSION_MAGIC ^ (spoil == SPOIL_MAGIC);
    control->version = TRK_SESSION_VERSION + (spoil == SPOIL_VERSION);
    control->ring_count = TRK_SESSION_RINGS;
    if (spoil == SPOIL_RING_COUNT_0)
        control->ring_count = 0;
    if (spoil == SPOIL_RING_COUNT_HUGE)
        control->ring_count = UINT32_MAX;
    control->ring_records = 256;
    if (spoil == SPOIL_RECORDS_ODD)
        control->ring_records = 255;
    if (spoil == SPOIL_RECORDS_0)
        control->ring_records = 0;
    if (spoil == SPOIL_RECORDS_HUGE)
        control->ring_records = 1u << 31;
    if (spoil == SPOIL_PAYLOAD_PAGES)
        control->payload = TRK_PAYLOAD_PAGES;
    if (spoil == SPOIL_PAYLOAD_UNKNOWN)
        control->payload = 3;
    control->size_bytes = trk_session_bytes(TRK_SESSION_RINGS, 256, TRK_PAYLOAD_NONE) +
                          (spoil == SPOIL_SIZE_FIELD ? 4096 : 0);
    atomic_store(&control->attached, spoil == SPOIL_ATTACHED);
}

static int make_object(enum spoil spoil)
{
    uint64_t size_bytes = trk_session_bytes(TRK_SESSION_RINGS, 256, TRK_PAYLOAD_NONE);
    if (spoil == SPOIL_OBJECT_SHORT)
        size_bytes -= 4096;
    int fd = memfd_create("spoilt", MFD_ALLOW_SEALING);
    cr_assert_geq(fd, 0);
    cr_assert_eq(ftruncate(fd, spoil == SPOIL_TINY ? 100 : (off_t)size_bytes), 0);
    if (spoil != SPOIL_TINY) {
        void *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        cr_assert_neq(map, MAP_FAILED);
        spoil_control(map, spoil);
        munmap(map, 4096);
    }
    if (spoil != SPOIL_SEALS)
        cr_assert_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
    return fd;
}

Test(capture_open, refuses_spoilt_objects)
{
    static const struct {
        const char *name;
        enum spoil spoil;
        enum trk_status status;
    } cases[] = {
        {"no seal against shrinking", SPOIL_SEALS, TRK_E_ARGUMENT},
        {"smaller than a control page", SPOIL_TINY, TRK_E_ARGUMENT},
        {"wrong magic", SPOIL_MAGIC, TRK_E_ARGUMENT},
        {"newer version", SPOIL_VERSION, TRK_E_VERSION},
        {"no rings", SPOIL_RING_COUNT_0, TRK_E_ARGUMENT},
        {"too many rings", SPOIL_RING_COUNT_HUGE, TRK_E_ARGUMENT},
        {"records no power of two", SPOIL_RECORDS_ODD, TRK_E_ARGUMENT},
        {"no records", SPOIL_RECORDS_0, TRK_E_ARGUMENT},
        {"too many records", SPOIL_RECORDS_HUGE, TRK_E_ARGUMENT},
        {"size field is another", SPOIL_SIZE_FIELD, TRK_E_ARGUMENT},
        {"no room for the pages it wants", SPOIL_PAYLOAD_PAGES, TRK_E_ARGUMENT},
        {"wants what nobody knows", SPOIL_PAYLOAD_UNKNOWN, TRK_E_ARGUMENT},
        {"object is shorter", SPOIL_OBJECT_SHORT, TRK_E_ARGUMENT},
        {"taken by another program", SPOIL_ATTACHED, TRK_E_EXISTS},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        int fd = make_object(cases[i].spoil);
        char number[16];
        snprintf(number, sizeof(number), "%d", fd);
        setenv(TRK_SESSION_VARIABLE, number, 1);
        struct trk_error error = {0};
        enum trk_status status = trk_capture_open(&error);
        cr_assert_eq(status, cases[i].status, "%s: %d, %s", cases[i].name, status, error.text);
        cr_assert_not(trk_capture_active(), "%s", cases[i].name);
        cr_assert_null(trk_capture_observer().emit, "%s", cases[i].name);
        cr_assert(is_open(fd), "%s: a foreign descriptor was closed", cases[i].name);
        close(fd);
    }
    int fd = make_object(SPOIL_NOTHING);
    char number[16];
    snprintf(number, sizeof(number), "%d", fd);
    setenv(TRK_SESSION_VARIABLE, number, 1);
    cr_assert_eq(trk_capture_open(NULL), TRK_OK, "the unspoilt one is refused too");
}

Test(capture_open, refuses_descriptors_of_other_kinds)
{
    static const char *const paths[] = {"/dev/null", "/proc/self/exe", "/"};
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); ++i) {
        int fd = open(paths[i], O_RDONLY);
        char number[16];
        snprintf(number, sizeof(number), "%d", fd);
        setenv(TRK_SESSION_VARIABLE, number, 1);
        cr_assert_eq(trk_capture_open(NULL), TRK_E_ARGUMENT, "%s", paths[i]);
        cr_assert(is_open(fd));
        close(fd);
    }
}

Test(capture_open, joins_closes_the_descriptor_and_takes_the_variable_away)
{
    struct trk_record_session session;
    capture_support_offer(&session, 1024);
    int fd = atoi(getenv(TRK_SESSION_VARIABLE));
    cr_assert_eq(trk_capture_open(NULL), TRK_OK);
    cr_assert(trk_capture_active());
    cr_assert_not_null(trk_capture_observer().emit);
    cr_assert_not(is_open(fd));
    cr_assert_null(getenv(TRK_SESSION_VARIABLE));
    cr_assert_eq(atomic_load(&session.control->attached), 1);
    cr_assert_eq(atomic_load(&session.control->pid), (uint32_t)getpid());
    cr_assert_eq(trk_capture_open(NULL), TRK_OK, "a second call is no fault");
}

/* The first and last byte of every mapping of the session's object. */
Test(capture_open, lies_outside_the_bands)
{
    struct trk_record_session session;
    capture_support_join(&session, 1024);
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    unsigned found = 0;
    while (fgets(line, sizeof(line), maps)) {
        unsigned long first = 0;
        unsigned long end = 0;
        if (!strstr(line, "trk-session") || sscanf(line, "%lx-%lx", &first, &end) != 2)
            continue;
        ++found;
        cr_assert_geq(first, TRK_LOW_END);
        cr_assert(end <= TRK_ARENA_FIRST || first >= TRK_ARENA_END);
    }
    fclose(maps);
    cr_assert_geq(found, 2, "the session is mapped once by each side");
}

Test(capture_open, does_nothing_without_a_session)
{
    unsetenv(TRK_SESSION_VARIABLE);
    cr_assert_eq(trk_capture_open(NULL), TRK_E_UNSUPPORTED);
    struct trk_policy policy;
    cr_assert_eq(trk_policy_preset("default", &policy), TRK_OK);
    trk_capture_tracker(0, &policy, TRK_BACKEND_MPROTECT);
    trk_capture_thread("nobody", TRK_ROLE_GUEST);
    trk_capture_mark(1);
    trk_capture_thread_end();
    cr_assert_eq(trk_capture_dropped(), 0);
}

/* Whether this process has the page in its table: who touches it then takes no fault. */
static bool is_present(const void *address)
{
    uint64_t entry = 0;
    int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    cr_assert_geq(fd, 0, "no pagemap");
    off_t at = (off_t)((uintptr_t)address / TRK_HOST_PAGE_BYTES * sizeof entry);
    cr_assert_eq(pread(fd, &entry, sizeof entry, at), (ssize_t)sizeof entry);
    close(fd);
    return entry >> 63 != 0;
}

/* A thread's first event may come in the fault handler: it waits for no page. */
Test(capture_open, makes_the_beginning_of_each_ring_present)
{
    struct trk_record_session session;
    const size_t ring_bytes = (size_t)1024 * sizeof(struct trk_record);
    capture_support_join(&session, 1024);
    const unsigned char *map = (const unsigned char *)trk_capture_control();
    const size_t headers_bytes = trk_session_records_offset(session.ring_count);
    cr_assert_neq(map, session.map, "the program has a mapping of its own");
    for (size_t at = 0; at < headers_bytes; at += TRK_HOST_PAGE_BYTES)
        cr_assert(is_present(map + at), "byte %zu of the headers", at);
    for (size_t i = 0; i < session.ring_count; ++i) {
        cr_assert(is_present(map + headers_bytes + i * ring_bytes), "ring %zu", i);
        cr_assert_not(is_present(map + headers_bytes + i * ring_bytes + TRK_HOST_PAGE_BYTES));
    }
    trk_capture_mark(1);
    cr_assert_eq(atomic_load(&session.rings[0].head), 1);
}
