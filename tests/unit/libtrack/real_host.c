#define _GNU_SOURCE
#include "real_host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backends.h"
#include "track/address.h"
#include "track/event.h"

static struct {
    struct trk_backend *backend;
    unsigned char *memory;
    uint64_t guest_addr;
    uint32_t pages;
    bool in_use;
    uint32_t roving; /* page to look at next */
} real;

static struct trk_backend *backend_of(const char *name, int64_t bias)
{
    static const char *const names[] = {"mprotect", "userfaultfd", "userfaultfd-plain"};
    FOR_BACKENDS(choice)
    {
        if (strcmp(name, names[choice]) == 0)
            return backend_choice_open(choice, bias);
    }
    fprintf(stderr, "TRK_TEST_BACKEND: no backend '%s'\n", name);
    abort();
}

static bool create(const char *name, uint64_t guest_addr, uint32_t pages)
{
    uint64_t bytes = pages * TRK_HOST_PAGE_BYTES;
    int fd = memfd_create("guest", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0)
        abort();
    real.memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (real.memory == MAP_FAILED)
        abort();
    real.guest_addr = guest_addr;
    real.pages = pages;
    real.backend = backend_of(name, (int64_t)((uintptr_t)real.memory - guest_addr));
    return real.backend != NULL &&
           trk_backend_attach(real.backend, guest_addr, bytes, NULL) == TRK_OK;
}

static int protect(uint32_t first, uint32_t pages, unsigned rights)
{
    return real.backend->protect(real.backend, real.guest_addr + first * TRK_HOST_PAGE_BYTES,
                                 pages * TRK_HOST_PAGE_BYTES, rights);
}

bool real_host_open(uint64_t guest_addr, uint32_t pages)
{
    static bool lacking;
    const char *name = getenv("TRK_TEST_BACKEND");
    if (name == NULL || lacking || real.in_use)
        return false;
    if (real.backend == NULL && !create(name, guest_addr, pages)) {
        lacking = true;
        return false;
    }
    for (uint32_t page = 0; page < pages; page += TRK_REGION_PAGES) {
        if (protect(page, TRK_REGION_PAGES, TRK_RIGHTS_RW) != 0)
            abort();
    }
    real.in_use = true;
    return true;
}

void real_host_close(void)
{
    real.in_use = false;
}

static bool agrees(const uint8_t *host, uint32_t page)
{
    unsigned expected = host[page] & TRK_RIGHTS_RW;
    /* A processor that writes also reads. */
    if (expected & TRK_RIGHT_WRITE)
        expected |= TRK_RIGHT_READ;
    if ((host[page] & TRK_RIGHT_EXEC) && expected == 0)
        return true; /* whether such a page can be read is the processor's business */
    return backend_rights_of(real.memory + page * TRK_HOST_PAGE_BYTES) == expected;
}

bool real_host_protect(const uint8_t *host, uint32_t first, uint32_t pages, uint32_t *wrong_page)
{
    real.roving = (real.roving + 613) % real.pages; /* no divisor in common: meets each page */
    const uint32_t looks[] = {first, first + pages - 1, first - 1, first + pages, real.roving};
    *wrong_page = first;
    bool right = protect(first, pages, host[first]) == 0;
    for (size_t i = 0; i < sizeof looks / sizeof looks[0] && right; i++) {
        *wrong_page = looks[i];
        right = looks[i] >= real.pages || agrees(host, looks[i]);
    }
    return right;
}
