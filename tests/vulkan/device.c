#include "device.h"

#include <criterion/criterion.h>
#include <stdio.h>

void device_skip(const struct trk_error *error)
{
    /* Criterion names skipped tests only when asked to. */
    fprintf(stderr, "skipped: %s::%s: %s\n", criterion_current_test->category,
            criterion_current_test->name, error->text);
    cr_skip("%s", error->text);
}

struct trk_vk *device_or_skip(void)
{
    struct trk_vk *vk = NULL;
    struct trk_error error;
    enum trk_status status = trk_vk_open(&vk, 0, &error);
    if (status == TRK_E_UNSUPPORTED) {
        device_skip(&error);
    }
    cr_assert_eq(status, TRK_OK, "%s", error.text);
    return vk;
}
