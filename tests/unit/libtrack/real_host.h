/*
 * A real host under the fixture's simulated one, where TRK_TEST_BACKEND names a backend (mprotect,
 * userfaultfd, userfaultfd-plain): each host call is made on real memory too, and what the kernel
 * then lets through is compared. So whatever runs on the fixture runs over every backend.
 */
#ifndef TESTS_REAL_HOST_H
#define TESTS_REAL_HOST_H

#include <stdbool.h>
#include <stdint.h>

/* Guest memory of `pages` pages at guest_addr, all open; false: none is asked for, or this machine
 * lacks it, which is said by name, or another fixture has it: there is one in the process. */
bool real_host_open(uint64_t guest_addr, uint32_t pages);
void real_host_close(void);

/*
 * Make a call, then ask the kernel about its first and last pages, those beside them, and another
 * one each time. host has a byte of rights a page, as they are after the call. False: refused, or
 * wrong_page lets through something else.
 */
bool real_host_protect(const uint8_t *host, uint32_t first, uint32_t pages, uint32_t *wrong_page);

#endif
