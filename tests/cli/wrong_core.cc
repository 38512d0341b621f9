// The example's plug-in, wrong in one way each: WRONG says which.
#include <cstdlib>
#include <stdexcept>

#include "simulator/core_plugin.hpp"

extern "C" const trk_core_table *example_plugin(const trk_core_host *host);

extern "C" __attribute__((visibility("default"))) const trk_core_table *
trk_core_plugin(const trk_core_host *host);

namespace {

enum : int {
    unhandled_faults = 0,
    no_status,    // upload gives a number that is none
    no_tracker,   // create gives OK, and nothing
    no_memory,    // create gives "no memory"
    throws,       // an exception leaves invalidate
    forgets,      // the second tracker and all that follow answer otherwise
    endless,      // create never comes back
    no_questions, // is_cpu and is_gpu are not there
    no_changes,   // unmark_gpu and mark_cpu are not there
};

trk_core_table changed;
int trackers_made;

trk_core_fault fault(void *, std::uint64_t, bool)
{
    return TRK_CORE_UNHANDLED;
}

trk_core_status upload(void *its, const trk_core_transfer *asked)
{
    if (WRONG == no_status)
        return static_cast<trk_core_status>(0x7fffffff);
    if (trackers_made > 2)
        return TRK_CORE_CONFLICT;
    return example_plugin(trk::core_host)->upload(its, asked);
}

trk_core_status create(void **out, const trk_core_policy *policy, const trk_core_owner *owner)
{
    *out = nullptr;
    trackers_made++;
    for (volatile bool again = WRONG == endless; again;)
        continue;
    if (WRONG == no_tracker)
        return TRK_CORE_OK;
    if (WRONG == no_memory)
        return TRK_CORE_MEMORY;
    return example_plugin(trk::core_host)->create(out, policy, owner);
}

trk_core_status invalidate(void *, std::uint64_t, std::uint64_t, trk_core_range_fn *, void *)
{
    return trk::core_detail::guarded(
        []() -> trk_core_status { throw std::out_of_range("map::at"); });
}

} // namespace

const trk_core_table *trk_core_plugin(const trk_core_host *host)
{
    changed = *example_plugin(host);
    if (WRONG == unhandled_faults)
        changed.fault = fault;
    if (WRONG == no_status || WRONG == forgets)
        changed.upload = upload;
    if (WRONG == no_tracker || WRONG == no_memory || WRONG == endless || WRONG == forgets)
        changed.create = create;
    if (WRONG == throws)
        changed.invalidate = invalidate;
    if (WRONG == no_questions)
        changed.is_cpu = changed.is_gpu = nullptr;
    if (WRONG == no_changes)
        changed.unmark_gpu = changed.mark_cpu = nullptr;
    return &changed;
}
