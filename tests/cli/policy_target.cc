// A program that has libtrack for its tracker and records it as a foreign one: through the adapter
// for C++, with the policy that it follows. What `trk sim` then runs again must be the same.
//     policy_target STEPS [wrong]    wrong: a question in the middle is answered otherwise
#include <cstdlib>

#include <recorder/capture.hpp>
#include <track/tracker.h>

namespace {

constexpr std::uint32_t id = 3;
constexpr std::uint64_t first_addr = 0x200000000, pages = 64, page_bytes = 4096;

template <class Call> void call_it(void *context, std::uint64_t guest_addr, std::uint64_t bytes)
{
    (*static_cast<Call *>(context))(guest_addr, bytes);
}

struct target {
    trk_tracker *tracker = nullptr;
    bool wrong = false;
};

struct shape : trk::capture::usual_shape {
    static bool is_gpu(target &t, std::uint64_t a, std::uint64_t n)
    {
        bool answer = false;
        return trk_tracker_is_gpu(t.tracker, a, n, &answer) == TRK_OK && answer != t.wrong;
    }
    static trk_status mark_gpu(target &t, std::uint64_t a, std::uint64_t n)
    {
        return trk_tracker_mark_gpu(t.tracker, a, n);
    }
    static trk_status mark_cpu(target &t, std::uint64_t a, std::uint64_t n)
    {
        return trk_tracker_mark_cpu(t.tracker, a, n);
    }
    template <class R, class D>
    static trk_status upload(target &t, std::uint64_t a, std::uint64_t n, bool written, R &range,
                             D &)
    {
        trk_transfer transfer{};
        transfer.size = sizeof transfer;
        transfer.guest_addr = a;
        transfer.size_bytes = n;
        transfer.written = written;
        transfer.range = call_it<R>;
        transfer.context = &range;
        return trk_tracker_upload(t.tracker, &transfer);
    }
    template <class R>
    static trk_status download(target &t, std::uint64_t a, std::uint64_t n, bool clear, R &range)
    {
        trk_transfer transfer{};
        transfer.size = sizeof transfer;
        transfer.guest_addr = a;
        transfer.size_bytes = n;
        transfer.clear = clear;
        transfer.range = call_it<R>;
        transfer.context = &range;
        return trk_tracker_download(t.tracker, &transfer);
    }
    template <class F>
    static trk_status invalidate(target &t, std::uint64_t a, std::uint64_t n, F &flush)
    {
        return trk_tracker_invalidate(t.tracker, a, n, call_it<F>, &flush);
    }
};

using noted = trk::capture::adapter<target, shape>;

void step(noted &tracker, std::uint64_t dice)
{
    const std::uint64_t a = first_addr + dice / 8 % pages * page_bytes + dice % 7;
    const std::uint64_t n = 1 + dice / 512 % (8 * page_bytes);
    const auto nothing = [](std::uint64_t, std::uint64_t) {};
    const auto flush = [&](std::uint64_t at, std::uint64_t bytes) {
        (void)tracker.download(at, bytes, true, nothing);
    };
    switch (dice % 8) {
    case 0:
    case 1:
        (void)tracker.upload(a, n, dice % 8 == 0, nothing);
        break;
    case 2:
        (void)tracker.download(a, n, dice % 3 == 0, nothing);
        break;
    case 3:
        (void)tracker.mark_gpu(a, n, TRK_ORIGIN_GPU);
        break;
    case 4:
        (void)tracker.mark_cpu(a, n, TRK_ORIGIN_HLE);
        break;
    case 5:
        (void)tracker.is_gpu(a, n);
        break;
    default:
        (void)tracker.invalidate(a, n, flush, TRK_ORIGIN_HLE);
        break;
    }
}

void refused(void *, const trk_failure *)
{
}

} // namespace

int main(int count, char **words)
{
    const long steps = count > 1 ? std::strtol(words[1], nullptr, 10) : 100;
    trk_backend *backend = nullptr;
    trk_tracker_options options = trk_tracker_options_default();
    if (trk_capture_open(nullptr) != TRK_OK ||
        trk_backend_simulated_create(&backend, nullptr) != TRK_OK)
        return 1;
    target plain;
    options.backend = backend;
    options.failure = refused;
    trk_capture_foreign foreign = trk_capture_foreign_default();
    foreign.id = id;
    foreign.notes = TRK_NOTES_HANDED;
    foreign.policy = &options.policy;
    if (trk_tracker_create(&plain.tracker, &options, nullptr) != TRK_OK ||
        trk_capture_foreign_declare(&foreign, nullptr) != TRK_OK)
        return 1;
    noted tracker(plain, id);
    std::uint64_t dice = 1;
    for (long i = 0; i < steps; i++) {
        dice = dice * 6364136223846793005u + 1442695040888963407u;
        step(tracker, dice >> 24);
    }
    plain.wrong = count > 2;
    (void)tracker.is_gpu(first_addr, page_bytes);
    trk_tracker_destroy(plain.tracker);
    trk_backend_destroy(backend);
    return 0;
}
