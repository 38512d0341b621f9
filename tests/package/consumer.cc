// The same from C++: the headers parse as C++17 and the symbols have C linkage.
#include <cstdio>
#include <cstring>

#include <recorder/capture.h>
#include <track/address.h>
#include <track/event.h>
#include <track/fault.h>
#include <track/pages.h>
#include <track/policy.h>
#include <track/thread.h>
#include <track/tracker.h>

int main()
{
    trk_policy policy = trk_tracker_options_default().policy;
    trk_policy back{};
    if (trk_policy_unpack(trk_policy_pack(&policy), &back) != TRK_OK ||
        back.page_size_bytes != policy.page_size_bytes) {
        return 1;
    }
    if (trk_domain_region(trk_domain(TRK_DOMAIN_REGION, 3, 77)) != 77) {
        return 1;
    }
    if (std::strcmp(trk_status_name(TRK_OK), "ok") != 0 || trk_capture_active()) {
        return 1;
    }
    std::puts("ok");
    return 0;
}
