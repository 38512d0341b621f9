// The example's plug-in, wrong in one way each: WRONG says which.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include <sys/time.h>
#include <unistd.h>

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
    done_twice,   // upload calls done() twice
    gives_back,   // upload gives back a lock that nobody holds
    throws_fault, // an exception leaves fault
    no_watches,   // watch does nothing
    late_run,     // upload reports a run behind done()
    crashes,      // the third upload ends the process
    claims_loads, // it does not say that loads do not fault
    claims_rest,  // nor what else is its own design
    never_done,   // upload never calls done()
    never_gpu,    // page() never says that a page is the GPU's
    always_retry, // fault does its work, and says that there was nothing to do
    one_lock,     // of pages with a lock each: upload holds one over all
    no_locks,     // of pages with a lock each: none is taken
    loose_lips,   // page() says that the host lets everything through
    writes,       // upload writes to whatever is open, and a reader that goes away ends it
    shuts,        // upload closes what programs print to
    chatters,     // a thread of its own prints without end
    short_up,     // upload hands over runs that end a page of the host's early
    twice_up,     // upload hands each run over twice
    outside_up,   // upload hands over what lies behind the range, too
    empty_up,     // upload hands over a run without a byte
    short_down,   // download hands over runs that end early
    denies,       // upload refuses by fail(), does its work and says ok
    prattles,     // a thread that its constructor starts prints without end
    jabbers,      // a thread that its entry point starts prints without end
    ticks,        // a timer of upload's prints without end
    waits_twice,  // upload takes a lock, and takes it once more
    leaks,        // upload takes a lock, and never gives it back
    page_locks,   // page() takes a lock
    page_yields,  // page() lets others run
    denies_none,  // upload refuses by fail() with OK
    forgetful,    // upload hands nothing over, and no state is known again
    hangs,        // likewise; behind many trackers it never comes back
    leaks_last,   // upload takes a lock that it never gives back, and destroy wants it
    waits_first,  // create takes a lock twice
    at_times,     // the first upload never comes back, unless there is a file to take away
};

trk_core_table changed;
trk_core_host changed_host;
int trackers_made, uploads;
std::uint32_t lock_over_all;
const trk_core_owner *newest_owner;

void print_always()
{
    std::thread([] {
        while (std::puts("noise") >= 0)
            std::fflush(stdout);
    }).detach();
}

// While the file is loaded, before anybody asks for anything.
[[gnu::constructor]] void start_early()
{
    if (WRONG == prattles)
        print_always();
}

// A handler may print, by mistake, as threads do.
void print_by_timer()
{
    std::signal(SIGALRM, [](int) {
        std::puts("noise");
        std::fflush(stdout);
    });
    const itimerval often = {{0, 50}, {0, 50}};
    setitimer(ITIMER_REAL, &often, nullptr);
}

trk_core_fault fault(void *, std::uint64_t, bool)
{
    return WRONG == throws_fault
               ? trk::core_detail::caught(
                     "fault", TRK_CORE_UNHANDLED,
                     []() -> trk_core_fault { throw std::runtime_error("no such page"); })
               : TRK_CORE_UNHANDLED;
}

trk_core_fault fault_retried(void *its, std::uint64_t guest_addr, bool store)
{
    const trk_core_fault word = example_plugin(&changed_host)->fault(its, guest_addr, store);
    return word == TRK_CORE_SERVED ? TRK_CORE_RETRY : word;
}

void page(void *its, std::uint64_t guest_addr, trk_core_page *out)
{
    if (WRONG == page_locks) {
        trk::core_host->lock(&lock_over_all);
        lock_over_all = trk::core_self();
    }
    if (WRONG == page_yields)
        trk::core_host->yield();
    example_plugin(&changed_host)->page(its, guest_addr, out);
    if (WRONG == page_locks) {
        trk::core_host->unlock(&lock_over_all);
        lock_over_all = 0;
    }
    if (WRONG == never_gpu)
        out->gpu_dirty = false;
    else if (WRONG == loose_lips)
        out->host_rights = TRK_CORE_READ | TRK_CORE_WRITE;
}

// As logs and daemons do, by mistake.
void use_descriptors()
{
    if (WRONG == shuts) {
        close(STDOUT_FILENO);
        return;
    }
    std::signal(SIGPIPE, SIG_DFL);
    for (int fd = 3; fd < 64; fd++)
        if (write(fd, "garbage", 7) == 7)
            continue;
}

trk_core_status watch(void *, std::uint64_t, std::uint64_t, bool)
{
    return TRK_CORE_OK;
}

// The host's callbacks, behind ours.
void range_as_asked(void *context, std::uint64_t guest_addr, std::uint64_t size_bytes)
{
    const auto *asked = static_cast<const trk_core_transfer *>(context);
    if (asked->range != nullptr)
        asked->range(asked->context, guest_addr, size_bytes);
}

void done_otherwise(void *context)
{
    const auto *asked = static_cast<const trk_core_transfer *>(context);
    if (asked->done == nullptr || WRONG == never_done)
        return;
    asked->done(asked->context);
    if (WRONG == done_twice)
        asked->done(asked->context);
    else if (asked->range != nullptr)
        asked->range(asked->context, asked->guest_addr, asked->size_bytes);
}

constexpr bool forgets_states = WRONG == forgetful || WRONG == hangs;
constexpr bool changes_runs = WRONG == short_up || WRONG == twice_up || WRONG == outside_up ||
                              WRONG == empty_up || WRONG == short_down || forgets_states;
constexpr bool takes_lock = WRONG == waits_twice || WRONG == leaks;

void range_otherwise(void *context, std::uint64_t guest_addr, std::uint64_t size_bytes)
{
    const bool ends_early = WRONG == short_up || WRONG == short_down;
    if (forgets_states)
        return;
    range_as_asked(context, guest_addr, ends_early ? size_bytes - 4096 : size_bytes);
    if (WRONG == twice_up)
        range_as_asked(context, guest_addr, size_bytes);
    if (WRONG == empty_up)
        range_as_asked(context, guest_addr, 0);
}

void done_as_asked(void *context)
{
    const auto *asked = static_cast<const trk_core_transfer *>(context);
    if (WRONG == outside_up)
        range_as_asked(context, (asked->guest_addr + asked->size_bytes + 16383) / 16384 * 16384,
                       1 << 20);
    if (asked->done != nullptr)
        asked->done(asked->context);
}

trk_core_status transfer_otherwise(trk_core_status (*transfer)(void *, const trk_core_transfer *),
                                   void *its, const trk_core_transfer *asked)
{
    trk_core_transfer changed_asked = *asked;
    changed_asked.range = range_otherwise;
    changed_asked.done = done_as_asked;
    changed_asked.context = const_cast<trk_core_transfer *>(asked);
    return transfer(its, &changed_asked);
}

trk_core_status download(void *its, const trk_core_transfer *asked)
{
    return transfer_otherwise(example_plugin(&changed_host)->download, its, asked);
}

void take_lock_over_all()
{
    trk::core_host->lock(&lock_over_all);
    lock_over_all = trk::core_self();
}

// One process after the other takes the file away, or finds none.
bool has_sign()
{
    const char *sign = std::getenv("WRONG_CORE_SIGN");
    return sign != nullptr && unlink(sign) == 0;
}

trk_core_status upload(void *its, const trk_core_transfer *asked)
{
    if (WRONG == no_status)
        return static_cast<trk_core_status>(0x7fffffff);
    if (WRONG == crashes && ++uploads == 3)
        std::raise(SIGSEGV);
    if (WRONG == forgets && trackers_made > 4)
        return TRK_CORE_CONFLICT;
    if (WRONG == gives_back) {
        static const std::uint32_t word = 0;
        trk::core_host->unlock(&word);
    }
    if (WRONG == writes || WRONG == shuts)
        use_descriptors();
    if (WRONG == chatters && ++uploads == 1)
        print_always();
    if (WRONG == ticks && ++uploads == 1)
        print_by_timer();
    if (WRONG == denies)
        newest_owner->fail(newest_owner->context, TRK_CORE_CONFLICT, asked->guest_addr, "no");
    if (WRONG == denies_none)
        newest_owner->fail(newest_owner->context, TRK_CORE_OK, asked->guest_addr, "no");
    for (volatile bool again = WRONG == hangs && trackers_made > 400; again;)
        continue;
    for (const bool waits = WRONG == at_times && ++uploads == 1 && !has_sign(); waits;)
        pause();
    for (int i = takes_lock ? 0 : 2; i < (WRONG == leaks ? 1 : 2); i++)
        take_lock_over_all();
    if (WRONG == leaks_last && lock_over_all == 0)
        take_lock_over_all();
    if (changes_runs)
        return transfer_otherwise(example_plugin(&changed_host)->upload, its, asked);
    if (WRONG == one_lock) {
        trk::core_host->lock(&lock_over_all);
        lock_over_all = trk::core_self();
        const trk_core_status word = example_plugin(&changed_host)->upload(its, asked);
        trk::core_host->unlock(&lock_over_all);
        lock_over_all = 0;
        return word;
    }
    if (WRONG == done_twice || WRONG == late_run || WRONG == never_done) {
        trk_core_transfer changed_asked = *asked;
        changed_asked.range = range_as_asked;
        changed_asked.done = done_otherwise;
        changed_asked.context = const_cast<trk_core_transfer *>(asked);
        return example_plugin(&changed_host)->upload(its, &changed_asked);
    }
    return example_plugin(&changed_host)->upload(its, asked);
}

trk_core_status create(void **out, const trk_core_policy *policy, const trk_core_owner *owner)
{
    *out = nullptr;
    newest_owner = owner;
    lock_over_all = 0;
    trackers_made++;
    for (volatile bool again = WRONG == endless; again;)
        continue;
    for (int i = 0; WRONG == waits_first && i < 2; i++)
        take_lock_over_all();
    if (WRONG == no_tracker)
        return TRK_CORE_OK;
    if (WRONG == no_memory)
        return TRK_CORE_MEMORY;
    return example_plugin(&changed_host)->create(out, policy, owner);
}

void destroy(void *its)
{
    take_lock_over_all();
    example_plugin(&changed_host)->destroy(its);
    lock_over_all = 0;
}

trk_core_status invalidate(void *, std::uint64_t, std::uint64_t, trk_core_range_fn *, void *)
{
    return trk::core_detail::guarded(
        "invalidate", []() -> trk_core_status { throw std::out_of_range("map::at"); });
}

} // namespace

const trk_core_table *trk_core_plugin(const trk_core_host *host)
{
    changed_host = *host;
    if (WRONG == jabbers)
        print_always();
    if (WRONG == no_locks)
        changed_host.lock = changed_host.unlock = [](const std::uint32_t *) {};
    changed = *example_plugin(&changed_host);
    if (WRONG == unhandled_faults || WRONG == throws_fault)
        changed.fault = fault;
    if (WRONG == no_status || WRONG == forgets || WRONG == done_twice || WRONG == gives_back ||
        WRONG == late_run || WRONG == crashes || WRONG == never_done || WRONG == one_lock ||
        WRONG == writes || WRONG == shuts || WRONG == chatters || WRONG == denies ||
        WRONG == denies_none || takes_lock || WRONG == leaks_last || WRONG == ticks ||
        WRONG == at_times || (changes_runs && WRONG != short_down))
        changed.upload = upload;
    if (WRONG == short_down)
        changed.download = download;
    if (WRONG == always_retry)
        changed.fault = fault_retried;
    if (WRONG == never_gpu || WRONG == loose_lips || WRONG == page_locks || WRONG == page_yields)
        changed.page = page;
    if (WRONG == no_tracker || WRONG == no_memory || WRONG == endless || WRONG == forgets ||
        WRONG == one_lock || WRONG == denies || WRONG == denies_none || takes_lock ||
        WRONG == page_locks || WRONG == leaks_last || WRONG == waits_first || forgets_states)
        changed.create = create;
    if (WRONG == leaks_last)
        changed.destroy = destroy;
    if (WRONG == throws)
        changed.invalidate = invalidate;
    if (WRONG == no_questions)
        changed.is_cpu = changed.is_gpu = nullptr;
    if (WRONG == no_changes)
        changed.unmark_gpu = changed.mark_cpu = nullptr;
    if (forgets_states)
        changed.digest = nullptr;
    if (WRONG == no_watches)
        changed.watch = watch;
    if (WRONG == claims_loads)
        changed.features &= ~static_cast<std::uint32_t>(TRK_CORE_OPEN_LOADS);
    if (WRONG == claims_rest)
        changed.features &= ~static_cast<std::uint32_t>(TRK_CORE_PAGE_LOCKS | TRK_CORE_OWN_WATCHES);
    return &changed;
}
