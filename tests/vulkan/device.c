#include "device.h"

#include <criterion/criterion.h>

struct trk_vk *device_or_skip(void)
{
    struct trk_vk *vk = NULL;
    struct trk_error error;
    enum trk_status status = trk_vk_open(&vk, 0, &error);
    if (status == TRK_E_UNSUPPORTED) {
        cr_skip("%s", error.text);
    }
    cr_assert_eq(status, TRK_OK, "%s", error.text);
    return vk;
}
