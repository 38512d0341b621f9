/*
 * The protection backends of this machine, for tests that run over all of them.
 */
#ifndef TESTS_BACKENDS_H
#define TESTS_BACKENDS_H

#include "track/backend.h"

enum backend_choice { BACKEND_MPROTECT, BACKEND_UFFD_GUARDS, BACKEND_UFFD_PLAIN, BACKEND_CHOICES };

const char *backend_choice_name(enum backend_choice choice);
/* NULL where the kernel lacks it, which is said by name on stderr. */
struct trk_backend *backend_choice_open(enum backend_choice choice, int64_t host_bias_bytes);

/* What the kernel reads from a page and writes to it: rights, without a fault. The byte stays. For
 * one thread at a time. */
unsigned backend_rights_of(unsigned char *page);

#define FOR_BACKENDS(choice)                                                                       \
    for (enum backend_choice choice = BACKEND_MPROTECT; choice < BACKEND_CHOICES; choice++)

#endif
