// What the example's emulator is made of: guest memory, a GPU that is a copy of it, and threads
// that wait for each other.
#ifndef EXAMPLES_WORLD_HPP
#define EXAMPLES_WORLD_HPP

#include <cerrno>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <mutex>

#include <sys/mman.h>
#include <unistd.h>

#include <recorder/capture.hpp>

#include "page_table.hpp"

namespace example {

inline constexpr std::uint32_t tracker_id = 0;
inline constexpr std::uint64_t window_addr = 0x200000000; // where the guest thinks that memory is
inline constexpr std::uint64_t window_pages = 64;
inline constexpr std::uint64_t window_bytes = window_pages * page_bytes;

// A slot is written as a whole, with a stamp that grows from store to store.
inline constexpr std::uint32_t slot_bytes = 256;
inline constexpr std::uint32_t page_slots = static_cast<std::uint32_t>(page_bytes) / slot_bytes;

// One memory object: the guest's view, which the tracker closes and opens, and the emulator's own.
class memory {
  public:
    memory() noexcept
    {
        const int fd = memfd_create("example", MFD_CLOEXEC);
        if (fd >= 0 && ftruncate(fd, static_cast<off_t>(window_bytes)) == 0) {
            guest_ = view(fd);
            backing_ = view(fd);
        }
        if (fd >= 0)
            close(fd);
        trk_capture_map(window_addr, window_bytes, 0, TRK_RIGHTS_RW, 0);
    }
    ~memory()
    {
        if (guest_ != nullptr)
            munmap(guest_, window_bytes);
        if (backing_ != nullptr)
            munmap(backing_, window_bytes);
    }
    memory(const memory &) = delete;
    memory &operator=(const memory &) = delete;

    bool usable() const noexcept
    {
        return guest_ != nullptr && backing_ != nullptr;
    }
    unsigned char *guest(std::uint64_t guest_addr) const noexcept
    {
        return guest_ + (guest_addr - window_addr);
    }
    unsigned char *backing(std::uint64_t guest_addr) const noexcept
    {
        return backing_ + (guest_addr - window_addr);
    }
    // Of a byte of the guest's view; 0: it is none.
    std::uint64_t guest_addr(const void *place) const noexcept
    {
        const auto offset =
            reinterpret_cast<std::uintptr_t>(place) - reinterpret_cast<std::uintptr_t>(guest_);
        return offset < window_bytes ? window_addr + offset : 0;
    }

  private:
    unsigned char *guest_ = nullptr, *backing_ = nullptr;

    static unsigned char *view(int fd) noexcept
    {
        void *place = mmap(nullptr, window_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        return place == MAP_FAILED ? nullptr : static_cast<unsigned char *>(place);
    }
};

inline void store_slot(unsigned char *place, std::uint32_t stamp) noexcept
{
    auto *words = reinterpret_cast<volatile std::uint32_t *>(place);
    for (std::uint32_t i = 0; i < slot_bytes / sizeof stamp; i++)
        words[i] = stamp;
}

// The stamp that all of the slot has; 0: there is none.
inline std::uint32_t load_slot(const unsigned char *place) noexcept
{
    const auto *words = reinterpret_cast<const volatile std::uint32_t *>(place);
    const std::uint32_t stamp = words[0];
    for (std::uint32_t i = 1; i < slot_bytes / sizeof stamp; i++)
        if (words[i] != stamp)
            return 0;
    return stamp;
}

// The GPU: its own copy of guest memory, and submissions that run at once.
class gpu {
  public:
    explicit gpu(const memory &guest) noexcept : guest_(guest)
    {
    }

    // The bytes of a range go up, or come home, by way of the emulator's own view.
    void take(std::uint64_t guest_addr, std::uint64_t size_bytes) noexcept
    {
        trk::capture::copy_scope noted(TRK_COPY_UP, guest_addr, size_bytes);
        std::memcpy(at(guest_addr), guest_.backing(guest_addr), size_bytes);
    }
    void give(std::uint64_t guest_addr, std::uint64_t size_bytes) noexcept
    {
        trk::capture::copy_scope noted(TRK_COPY_DOWN, guest_addr, size_bytes);
        std::memcpy(guest_.backing(guest_addr), at(guest_addr), size_bytes);
    }

    // Commands of one submission.
    void fill(std::uint64_t slot_addr, std::uint32_t stamp) noexcept
    {
        store_slot(at(slot_addr), stamp);
        trk_capture_gpu_write(slot_addr, slot_bytes, tick_ + 1, stamp);
    }
    std::uint32_t look(std::uint64_t slot_addr) noexcept
    {
        const std::uint32_t seen = load_slot(at(slot_addr));
        trk_capture_gpu_read(slot_addr, slot_bytes, tick_ + 1);
        trk_capture_witness_check(TRK_AGENT_GPU, slot_addr, slot_bytes, seen);
        return seen;
    }
    void submit() noexcept
    {
        trk_capture_gpu_complete(++tick_);
    }

  private:
    const memory &guest_;
    std::uint32_t tick_ = 0;
    unsigned char copy_[window_bytes] = {};

    unsigned char *at(std::uint64_t guest_addr) noexcept
    {
        return copy_ + (guest_addr - window_addr);
    }
};

// A number that only grows, for who awaits it. What happened before signal() is ordered before what
// follows await(), and the trace says so.
class line {
  public:
    explicit line(std::uint32_t timeline) noexcept : timeline_(timeline)
    {
    }
    void signal(std::uint32_t value)
    {
        trk_capture_signal(timeline_, value);
        {
            const std::lock_guard<std::mutex> held(mutex_);
            value_ = value;
        }
        changed_.notify_all();
    }
    void await(std::uint32_t value)
    {
        {
            std::unique_lock<std::mutex> held(mutex_);
            changed_.wait(held, [&] { return value_ >= value; });
        }
        trk_capture_await(timeline_, value);
    }

  private:
    std::uint32_t timeline_;
    std::uint32_t value_ = 0;
    std::mutex mutex_;
    std::condition_variable changed_;
};

} // namespace example

#endif
