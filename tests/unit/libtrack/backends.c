#include "backends.h"

#include <stdio.h>
#include <stdlib.h>

const char *backend_choice_name(enum backend_choice choice)
{
    static const char *const names[] = {"mprotect", "userfaultfd with guards",
                                        "userfaultfd without guards"};
    return names[choice];
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
    if (choice == BACKEND_MPROTECT || status != TRK_E_UNSUPPORTED) {
        fprintf(stderr, "%s: %s\n", backend_choice_name(choice), error.text);
        abort();
    }
    fprintf(stderr, "skipped on %s: %s\n", backend_choice_name(choice), error.text);
    return NULL;
}
