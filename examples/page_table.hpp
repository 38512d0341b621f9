// The pages of the example's tracker: 16 KiB each, found by address, made when first met.
#ifndef EXAMPLES_PAGE_TABLE_HPP
#define EXAMPLES_PAGE_TABLE_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include <sched.h>
#include <sys/mman.h>

namespace example {

inline constexpr std::uint64_t page_bytes = 16384;

// Where guest memory may be: [page_bytes, 1 TiB) and 512 GiB from 8 TiB on.
inline constexpr std::uint64_t low_end = std::uint64_t{1} << 40;
inline constexpr std::uint64_t high_first = std::uint64_t{1} << 43;
inline constexpr std::uint64_t high_end = high_first + (std::uint64_t{1} << 39);

// A lock that works in a signal handler.
class page_lock {
  public:
    void take() noexcept
    {
        while (word_.exchange(true, std::memory_order_acquire))
            sched_yield();
    }
    void give() noexcept
    {
        word_.store(false, std::memory_order_release);
    }

  private:
    std::atomic<bool> word_{false};
};

enum class owner : std::uint8_t { cpu = 0, clean = 1, gpu = 2 };

// All zero is a page that nobody has met.
struct page {
    page_lock lock;
    owner whose;
    std::uint8_t watches; // of others
    std::uint8_t returns; // how often it has come back from the GPU, modulo 256

    bool open() const noexcept
    {
        return whose == owner::cpu && watches == 0;
    }
    void leave_gpu() noexcept
    {
        whose = owner::clean;
        returns++;
    }
};

// The whole pages that a range touches.
struct span {
    std::uint64_t first, end;
    bool valid;
};

inline span span_of(std::uint64_t guest_addr, std::uint64_t size_bytes) noexcept
{
    const std::uint64_t last = guest_addr + size_bytes - 1;
    const bool low = guest_addr >= page_bytes && last < low_end;
    const bool high = guest_addr >= high_first && last < high_end;
    const bool valid = size_bytes > 0 && last >= guest_addr && (low || high);
    return {guest_addr / page_bytes * page_bytes, (last / page_bytes + 1) * page_bytes, valid};
}

// Neighbouring pages, gathered one by one.
struct run {
    std::uint64_t first, end;
    bool empty() const noexcept
    {
        return first == end;
    }
    // Whether what was gathered so far ends here.
    bool add(std::uint64_t at, bool wanted) noexcept
    {
        if (wanted && empty())
            first = end = at;
        if (wanted)
            end = at + page_bytes;
        return !wanted && !empty();
    }
    span take() noexcept
    {
        const span taken{first, end, true};
        first = end = 0;
        return taken;
    }
};

// Nothing is ever taken out of it, so that a page that was found may be used without a lock.
class page_table {
  public:
    page_table() noexcept : chunks_(static_cast<slot *>(map(directory_bytes)))
    {
    }
    ~page_table()
    {
        for (std::size_t i = 0; chunks_ != nullptr && i < chunk_count; i++)
            if (chunk *known = chunks_[i].load(std::memory_order_relaxed))
                munmap(known, sizeof *known);
        if (chunks_ != nullptr)
            munmap(chunks_, directory_bytes);
    }
    page_table(const page_table &) = delete;
    page_table &operator=(const page_table &) = delete;

    bool usable() const noexcept
    {
        return chunks_ != nullptr;
    }

    // NULL: nobody has met the page.
    page *find(std::uint64_t at) const noexcept
    {
        chunk *known = chunks_[chunk_of(at)].load(std::memory_order_acquire);
        return known == nullptr ? nullptr : &known->pages[at / page_bytes % chunk_pages];
    }

    // Make the pages of a range, where they are not; false: there is no memory. Not in a fault.
    bool touch(const span &all) noexcept
    {
        for (std::uint64_t at = all.first; at < all.end; at += page_bytes)
            if (find(at) == nullptr && !make(chunks_[chunk_of(at)]))
                return false;
        return true;
    }

  private:
    static constexpr std::uint64_t chunk_pages = 256;
    static constexpr std::uint64_t chunk_bytes = chunk_pages * page_bytes;
    static constexpr std::size_t low_chunks = low_end / chunk_bytes;
    static constexpr std::size_t chunk_count =
        low_chunks + static_cast<std::size_t>((high_end - high_first) / chunk_bytes);

    struct chunk {
        page pages[chunk_pages];
    };
    using slot = std::atomic<chunk *>;
    static constexpr std::size_t directory_bytes = chunk_count * sizeof(slot);

    slot *chunks_; // fresh memory is zero: empty slots

    static void *map(std::size_t size_bytes) noexcept
    {
        void *memory = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        return memory == MAP_FAILED ? nullptr : memory;
    }

    static std::size_t chunk_of(std::uint64_t at) noexcept
    {
        return at < low_end
                   ? static_cast<std::size_t>(at / chunk_bytes)
                   : low_chunks + static_cast<std::size_t>((at - high_first) / chunk_bytes);
    }

    static bool make(slot &place) noexcept
    {
        void *memory = map(sizeof(chunk));
        if (memory == nullptr)
            return false;
        chunk *none = nullptr;
        if (!place.compare_exchange_strong(none, new (memory) chunk{}, std::memory_order_acq_rel))
            munmap(memory, sizeof(chunk)); // somebody was faster
        return true;
    }
};

} // namespace example

#endif
