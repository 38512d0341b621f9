#define _GNU_SOURCE
#include "backends.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "track/event.h"

const char *backend_choice_name(enum backend_choice choice)
{
    static const char *const names[] = {"mprotect", "userfaultfd with guards",
                                        "userfaultfd without guards"};
    return names[choice];
}

/* A look of our own, so that a backend whose probe fails without reason is no skipped test. */
static bool kernel_has(enum backend_choice choice)
{
    static const int guard_install = 102; /* MADV_GUARD_INSTALL */
    int uffd = (int)syscall(SYS_userfaultfd, 1 /* UFFD_USER_MODE_ONLY */);
    bool has = uffd >= 0;
    if (has)
        close(uffd);
    if (choice != BACKEND_UFFD_GUARDS)
        return has;
    int fd = memfd_create("probe", MFD_CLOEXEC);
    void *page = MAP_FAILED;
    if (fd >= 0 && ftruncate(fd, 4096) == 0)
        page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    has = has && page != MAP_FAILED && madvise(page, 4096, guard_install) == 0;
    if (page != MAP_FAILED)
        munmap(page, 4096);
    if (fd >= 0)
        close(fd);
    return has;
}

struct trk_backend *backend_choice_open(enum backend_choice choice, int64_t host_bias_bytes)
{
    struct trk_backend *backend = NULL;
    struct trk_error error = {.status = TRK_OK};
    enum trk_status status;
    if (choice == BACKEND_MPROTECT)
        status = trk_backend_mprotect_create(&backend, host_bias_bytes, &error);
    else
        status = trk_backend_userfaultfd_create(
            &backend, host_bias_bytes,
            choice == BACKEND_UFFD_GUARDS ? TRK_GUARDS_ON : TRK_GUARDS_OFF, &error);
    if (status == TRK_OK)
        return backend;
    if (choice == BACKEND_MPROTECT || status != TRK_E_UNSUPPORTED || kernel_has(choice)) {
        fprintf(stderr, "%s: %s\n", backend_choice_name(choice), error.text);
        abort();
    }
    fprintf(stderr, "skipped on %s: %s\n", backend_choice_name(choice), error.text);
    return NULL;
}

unsigned backend_rights_of(unsigned char *page)
{
    static int ends[2];
    unsigned char value = 0;
    unsigned rights = 0;
    if (ends[1] == 0 && pipe(ends) != 0)
        abort();
    if (write(ends[1], page, 1) == 1) {
        rights |= TRK_RIGHT_READ;
        if (read(ends[0], &value, 1) != 1)
            abort();
    }
    if (write(ends[1], &value, 1) != 1)
        abort();
    if (read(ends[0], page, 1) == 1)
        return rights | TRK_RIGHT_WRITE;
    return read(ends[0], &value, 1) == 1 ? rights : ~0u;
}
