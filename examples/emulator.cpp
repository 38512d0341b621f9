// An emulator in small, with a tracker of its own: two guest threads store and load by native
// accesses, a render thread uploads, draws and brings results home, and faults are real.
//
//     trk record -o run.trk -- ./example_emulator [FRAMES]
//     trk sim run.trk
//
// Memory holds five areas: `vertices`, which guests write and the GPU reads; `results`, which the
// GPU writes and guests read, brought home at the fence, since no page is closed to loads; `turns`,
// which the GPU and a guest write in turn, so that the guest's store brings the GPU's bytes home;
// `texts`, which the emulator itself writes for the guest; and `loose`, which a guest writes
// whenever it likes, for the next frame.
#include <csignal>
#include <cstdlib>
#include <functional>
#include <memory>
#include <thread>

#include "noted_tracker.hpp"

namespace {

using namespace example;

struct area {
    const char *name;
    std::uint16_t object; // its number in the trace
    std::uint64_t page, pages;

    std::uint64_t addr() const noexcept
    {
        return window_addr + page * page_bytes;
    }
    std::uint64_t bytes() const noexcept
    {
        return pages * page_bytes;
    }
    std::uint64_t slot(std::uint64_t in_page, std::uint32_t number) const noexcept
    {
        return addr() + in_page * page_bytes + number * slot_bytes;
    }
};

constexpr area vertices{"vertices", 1, 4, 8};
constexpr area results{"results", 2, 20, 4};
constexpr area turns{"turns", 3, 32, 2};
constexpr area texts{"texts", 4, 40, 4};
constexpr area loose{"loose", 5, 48, 1};
constexpr std::uint32_t guests = 2;

// The stores to one slot in a frame, and how many stamps a frame has.
enum turn : std::uint32_t { first_store = 1, meeting_store = 2, frame_stamps = 4 };
constexpr std::uint32_t stamp_of(std::uint32_t frame, turn which) noexcept
{
    return frame * frame_stamps + which;
}

struct emulator {
    memory guest;
    gpu device{guest};
    noted_host host{guest};
    page_tracker<noted_host> plain{host};
    noted_tracker tracker{plain, tracker_id};
    line started{1}, met{2}, drawn{3};                    // the render thread's
    line done[guests] = {line{10}, line{11}}, stored{12}; // the guests'
    std::atomic<std::uint32_t> faults{0}, mismatches{0};
    std::uint32_t frames = 8;
};

emulator *running; // for the handler

void expect(emulator &self, std::uint32_t seen, std::uint32_t stamp) noexcept
{
    self.mismatches += seen != stamp;
}

// ---- faults ------------------------------------------------------------------------------------

// The GPU's bytes come home before the guest stores over them. Runs on the thread that faulted.
void flush(std::uint64_t guest_addr, std::uint64_t size_bytes) noexcept
{
    running->tracker.download(
        guest_addr, size_bytes, true,
        [](std::uint64_t first, std::uint64_t bytes) { running->device.give(first, bytes); });
}

void on_fault(int signal_number, siginfo_t *info, void *) noexcept
{
    const int kept = errno;
    const std::uint64_t guest_addr = running->guest.guest_addr(info->si_addr);
    // No page of the window is ever closed to loads: who faults in it stores.
    if (guest_addr == 0 ||
        running->tracker.fault(guest_addr, TRK_ACCESS_WRITE, flush) == TRK_FAULT_UNHANDLED)
        std::signal(signal_number, SIG_DFL); // not ours: let it happen again, and end us
    running->faults++;
    errno = kept;
}

// A stack for the handler, for as long as the thread runs.
class handler_stack {
  public:
    handler_stack() noexcept
    {
        stack_t own{};
        own.ss_sp = bytes_;
        own.ss_size = sizeof bytes_;
        sigaltstack(&own, nullptr);
    }
    ~handler_stack()
    {
        stack_t none{};
        none.ss_flags = SS_DISABLE;
        sigaltstack(&none, nullptr);
    }
    handler_stack(const handler_stack &) = delete;
    handler_stack &operator=(const handler_stack &) = delete;

  private:
    alignas(16) unsigned char bytes_[65536];
};

bool install_handler() noexcept
{
    struct sigaction action {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    return sigaction(SIGSEGV, &action, nullptr) == 0;
}

// ---- the guest ---------------------------------------------------------------------------------

void guest_store(emulator &self, std::uint64_t slot_addr, std::uint32_t stamp) noexcept
{
    store_slot(self.guest.guest(slot_addr), stamp);
    trk_capture_witness_store(TRK_AGENT_CPU, slot_addr, slot_bytes, stamp);
}

void guest_load(emulator &self, std::uint64_t slot_addr, std::uint32_t stamp) noexcept
{
    const std::uint32_t seen = load_slot(self.guest.guest(slot_addr));
    trk_capture_witness_check(TRK_AGENT_CPU, slot_addr, slot_bytes, seen);
    expect(self, seen, stamp);
}

void guest_frame(emulator &self, std::uint32_t number, std::uint32_t frame)
{
    self.started.await(frame);
    for (std::uint64_t page = number; page < vertices.pages; page += guests)
        guest_store(self, vertices.slot(page, number), stamp_of(frame, first_store));
    if (number == 0)
        guest_store(self, turns.slot(0, 1), stamp_of(frame, first_store));
    self.done[number].signal(frame);
    if (number == 0) { // in the middle of the upload
        self.met.await(frame);
        guest_store(self, vertices.slot(0, 0), stamp_of(frame, meeting_store));
        self.stored.signal(frame);
    } else { // while the render thread uploads this page, or before, or after
        guest_store(self, loose.slot(0, frame % 2), stamp_of(frame, first_store));
    }
    self.drawn.await(frame);
    for (std::uint64_t page = 0; page < results.pages; page++)
        guest_load(self, results.slot(page, number), stamp_of(frame, first_store));
}

void guest_main(emulator &self, std::uint32_t number)
{
    const trk::capture::thread_scope noted(number == 0 ? "guest-0" : "guest-1", TRK_ROLE_GUEST);
    const handler_stack stack;
    for (std::uint32_t frame = 1; frame <= self.frames; frame++)
        guest_frame(self, number, frame);
}

// ---- the render thread -------------------------------------------------------------------------

void upload(emulator &self, const area &from)
{
    self.tracker.upload(
        from.addr(), from.bytes(), false,
        [&](std::uint64_t first, std::uint64_t bytes) { self.device.take(first, bytes); });
}

// The upload in whose middle a guest stores to what was just taken; the bytes must come with the
// next.
void upload_with_meeting(emulator &self, std::uint32_t frame)
{
    bool had = false;
    auto meet = [&](std::uint64_t first, std::uint64_t bytes) {
        self.device.take(first, bytes);
        if (had || first != vertices.addr())
            return;
        had = true;
        self.met.signal(frame);
        self.stored.await(frame);
    };
    self.tracker.upload(vertices.addr(), vertices.bytes(), false, meet);
    upload(self, vertices);
}

// The GPU writes a slot of each page, of which the rest goes up before.
void draw_over(emulator &self, const area &to, std::uint32_t slot, std::uint32_t frame)
{
    self.tracker.upload(to.addr(), to.bytes(), true, [&](std::uint64_t first, std::uint64_t bytes) {
        self.device.take(first, bytes);
    });
    for (std::uint64_t page = 0; page < to.pages; page++)
        self.device.fill(to.slot(page, slot), stamp_of(frame, first_store));
}

// A text across a page's edge, by way of the emulator's own view.
void write_text(emulator &self, std::uint32_t frame)
{
    const std::uint64_t first = texts.slot(1, page_slots - 1);
    self.tracker.invalidate(first, 2 * slot_bytes, flush, TRK_ORIGIN_HLE);
    for (std::uint64_t slot = first; slot < first + 2 * slot_bytes; slot += slot_bytes) {
        store_slot(self.guest.backing(slot), stamp_of(frame, first_store));
        trk_capture_witness_store(TRK_AGENT_HLE, slot, slot_bytes, stamp_of(frame, first_store));
    }
}

void draw(emulator &self, std::uint32_t frame)
{
    for (std::uint64_t page = 0; page < vertices.pages; page++) {
        const auto number = static_cast<std::uint32_t>(page % guests);
        const turn last = page == 0 ? meeting_store : first_store;
        expect(self, self.device.look(vertices.slot(page, number)), stamp_of(frame, last));
    }
    for (std::uint32_t i = 0; i < 2; i++)
        expect(self, self.device.look(texts.slot(1, page_slots - 1) + i * slot_bytes),
               stamp_of(frame, first_store));
    expect(self, self.device.look(turns.slot(0, 1)), stamp_of(frame, first_store));
    if (frame > 1)
        expect(self, self.device.look(loose.slot(0, (frame - 1) % 2)),
               stamp_of(frame - 1, first_store));
}

void render_frame(emulator &self, std::uint32_t frame)
{
    trk_capture_frame(frame);
    self.started.signal(frame);
    for (line &each : self.done)
        each.await(frame);
    upload_with_meeting(self, frame);
    write_text(self, frame);
    upload(self, texts);
    upload(self, turns);
    upload(self, loose);
    draw(self, frame);
    draw_over(self, turns, 2, frame);
    draw_over(self, results, 0, frame);
    for (std::uint64_t page = 0; page < results.pages; page++)
        self.device.fill(results.slot(page, 1), stamp_of(frame, first_store));
    self.device.submit();
    flush(results.addr(), results.bytes()); // the fence: guests may look at it now
    self.drawn.signal(frame);
}

void announce() noexcept
{
    for (const area &each : {vertices, results, turns, texts, loose}) {
        trk_capture_object(TRK_OBJECT_CREATED, each.object, each.addr(), each.bytes());
        trk_capture_label(each.object, each.name);
    }
}

int play(std::uint32_t frames)
{
    const auto self = std::make_unique<emulator>();
    self->frames = frames;
    running = self.get();
    if (!self->guest.usable() || !self->plain.usable() || !install_handler()) {
        std::perror("example_emulator: no guest memory");
        return 1;
    }
    announce();
    std::thread threads[guests];
    for (std::uint32_t i = 0; i < guests; i++)
        threads[i] = std::thread(guest_main, std::ref(*self), i);
    for (std::uint32_t frame = 1; frame <= frames; frame++)
        render_frame(*self, frame);
    for (std::thread &each : threads)
        each.join();
    std::signal(SIGSEGV, SIG_DFL);
    std::printf("%u frames, %u faults, %u mismatches\n", frames, self->faults.load(),
                self->mismatches.load());
    return 0;
}

} // namespace

int main(int count, char **words)
{
    trk_error error{};
    const long frames = count > 1 ? std::strtol(words[1], nullptr, 10) : 8;
    if (frames < 1 || frames > 100000) {
        std::fprintf(stderr, "example_emulator: frames are 1 to 100000\n");
        return 2;
    }
    if (trk_capture_open(&error) != TRK_OK && error.status != TRK_E_UNSUPPORTED)
        std::fprintf(stderr, "example_emulator: not recorded: %s\n", error.text);
    const trk::capture::thread_scope noted("render", TRK_ROLE_HOST);
    if (example::declare_tracker(&error) != TRK_OK)
        std::fprintf(stderr, "example_emulator: the tracker is not recorded: %s\n", error.text);
    return play(static_cast<std::uint32_t>(frames));
}
