// A tracker that is not libtrack's: who has the current bytes of each 16 KiB page.
//
// It is here to be hooked, and differs from libtrack where it can: pages have a lock each and there
// are no regions; a page that the GPU wrote stays open to loads, so its owner brings the bytes home
// where the guest may look at them (at a fence, say); an upload hands ranges over with no lock
// held.
//
// A page is the CPU's (it may store), clean (both sides have the same bytes; stores fault) or the
// GPU's (stores fault, and its bytes come home first). A page that nobody has met is the CPU's.
//
// Host is what the tracker asks of the world:
//     bool protect(std::uint64_t guest_addr, std::uint64_t size_bytes, bool writable);
//     void lock(std::uint64_t page_addr, page_lock &lock);     what page_lock::take does, at least
//     void unlock(std::uint64_t page_addr, page_lock &lock);   likewise page_lock::give
// Callbacks may be any callable of (guest_addr, size_bytes). None of it throws.
//
// PAGE_TRACKER_BUG builds one of three bugs into it, so that there is something to find:
//     1  an upload hands the bytes over before the pages are closed
//     2  a clearing download leaves the last page of a run out, and clears it
//     3  an invalidate rounds the end of its range down
#ifndef EXAMPLES_PAGE_TRACKER_HPP
#define EXAMPLES_PAGE_TRACKER_HPP

#include <cstdint>

#include "page_table.hpp"

#ifndef PAGE_TRACKER_BUG
#define PAGE_TRACKER_BUG 0
#endif

namespace example {

enum class bug : int {
    none = 0,
    copy_before_close = 1,
    download_drops_page = 2,
    end_rounds_down = 3
};
inline constexpr bug built_bug = static_cast<bug>(PAGE_TRACKER_BUG);

// What an operation ends with. outside and conflict have changed nothing.
enum class result {
    ok,
    outside,  // the range leaves guest memory
    conflict, // a page is the other side's
    retained, // a flush has left a page to the GPU
    livelock, // a page was the GPU's anew behind each flush
    // The host did not change a page's protection, or has no memory. A watch has changed nothing
    // then; of others part was done: each page is as before or as it was to be.
    refused,
};

enum class fault_word {
    not_ours,
    served,
    retry,
    watched, // the CPU's, and closed for others: who watches it has to open it
    failed,  // ours, and not served
};

template <class Host> class page_tracker {
  public:
    explicit page_tracker(Host &host) noexcept : host_(host)
    {
    }
    page_tracker(const page_tracker &) = delete;
    page_tracker &operator=(const page_tracker &) = delete;

    // Whether there was memory for it.
    bool usable() const noexcept
    {
        return pages_.usable();
    }

    // ---- questions --------------------------------------------------------------------------

    // Whether any page of the range is the CPU's. A range outside has none.
    bool is_cpu(std::uint64_t guest_addr, std::uint64_t size_bytes) noexcept
    {
        return any(guest_addr, size_bytes, owner::cpu);
    }
    bool is_gpu(std::uint64_t guest_addr, std::uint64_t size_bytes) noexcept
    {
        return any(guest_addr, size_bytes, owner::gpu);
    }

    // ---- handing over without bytes ---------------------------------------------------------

    // The pages of the range are the CPU's; conflict where one is the GPU's.
    result mark_cpu(std::uint64_t guest_addr, std::uint64_t size_bytes) noexcept
    {
        return hand_over(guest_addr, size_bytes, owner::gpu, owner::cpu);
    }
    // They are the GPU's; conflict where one is the CPU's: its bytes were never uploaded.
    result mark_gpu(std::uint64_t guest_addr, std::uint64_t size_bytes) noexcept
    {
        return hand_over(guest_addr, size_bytes, owner::cpu, owner::gpu);
    }
    // Those that are the GPU's are clean.
    result unmark_gpu(std::uint64_t guest_addr, std::uint64_t size_bytes) noexcept
    {
        const span all = span_of(guest_addr, size_bytes);
        if (!all.valid)
            return result::outside;
        for (std::uint64_t at = all.first; at < all.end; at += page_bytes) {
            page *one = pages_.find(at);
            if (one == nullptr)
                continue;
            hold held(host_, at, *one);
            if (one->whose == owner::gpu)
                one->leave_gpu();
        }
        return result::ok;
    }
    // They are the CPU's, and not watched any more; conflict where one is the GPU's.
    result untrack(std::uint64_t guest_addr, std::uint64_t size_bytes) noexcept
    {
        return mark_cpu(guest_addr, size_bytes);
    }

    // ---- transfers --------------------------------------------------------------------------

    // Hand over the runs of pages that are the CPU's; they are clean from then on, or, written, all
    // of the range is the GPU's. No lock is held in the callbacks, or, written, all of them.
    template <class Range, class Done>
    result upload(std::uint64_t guest_addr, std::uint64_t size_bytes, bool written, Range &&range,
                  Done &&done) noexcept
    {
        const span all = span_of(guest_addr, size_bytes);
        if (!all.valid)
            return result::outside;
        if (written)
            return upload_written(all, range, done);
        if (!pages_.touch(all))
            return result::refused;
        result word = result::ok;
        run found{};
        for (std::uint64_t at = all.first; at < all.end && word == result::ok; at += page_bytes) {
            page &one = *pages_.find(at);
            bool dirty = false;
            {
                hold held(host_, at, one);
                dirty = one.whose == owner::cpu;
                if (dirty && built_bug != bug::copy_before_close)
                    word = give(at, one, owner::clean);
            }
            if (word == result::ok && found.add(at, dirty))
                hand_up(found.take(), range);
        }
        if (!found.empty())
            hand_up(found.take(), range);
        if (word == result::ok)
            done();
        return word;
    }

    // Hand over the runs of pages that are the GPU's, under their locks. clear: they are clean
    // then.
    template <class Range>
    result download(std::uint64_t guest_addr, std::uint64_t size_bytes, bool clear,
                    Range &&range) noexcept
    {
        const span all = span_of(guest_addr, size_bytes);
        if (!all.valid)
            return result::outside;
        for (std::uint64_t at = all.first; at < all.end;) {
            const std::uint64_t first = at;
            while (at < all.end && take_if(at, owner::gpu))
                at += page_bytes;
            if (at == first) {
                at += page_bytes;
                continue;
            }
            std::uint64_t end = at;
            if (built_bug == bug::download_drops_page && clear && end - first > page_bytes)
                end -= page_bytes;
            range(first, end - first);
            for (std::uint64_t home = first; home < at; home += page_bytes) {
                page &one = *pages_.find(home);
                if (clear)
                    one.leave_gpu();
                host_.unlock(home, one.lock);
            }
        }
        return result::ok;
    }

    // The CPU is about to store to the range, or has: its pages are the CPU's. Where one is the
    // GPU's, flush(guest_addr, size_bytes) must bring it home first; it is called with no lock
    // held. A page that the GPU gets again meanwhile is flushed again, a few times.
    template <class Flush>
    result invalidate(std::uint64_t guest_addr, std::uint64_t size_bytes, Flush &&flush) noexcept
    {
        span all = span_of(guest_addr, size_bytes);
        if (!all.valid)
            return result::outside;
        if (built_bug == bug::end_rounds_down)
            all.end = (guest_addr + size_bytes) / page_bytes * page_bytes;
        for (std::uint64_t at = all.first; at < all.end; at += page_bytes) {
            page *one = pages_.find(at);
            if (one == nullptr)
                continue; // the CPU's, since ever
            const result word = invalidate_page(at, *one, flush);
            if (word != result::ok)
                return word;
        }
        return result::ok;
    }

    // An access faulted at this byte; why: of failed ones, what invalidate() said. Loads are never
    // ours: no page is closed to them. A page that nobody has met is open like any of the CPU's.
    template <class Flush>
    fault_word fault(std::uint64_t guest_addr, bool store, Flush &&flush,
                     result *why = nullptr) noexcept
    {
        const std::uint64_t at = guest_addr / page_bytes * page_bytes;
        if (!span_of(guest_addr, 1).valid || !store)
            return fault_word::not_ours;
        page *one = pages_.find(at);
        if (one == nullptr)
            return fault_word::retry;
        {
            hold held(host_, at, *one);
            if (one->open())
                return fault_word::retry; // somebody was faster
            if (one->whose == owner::cpu)
                return fault_word::watched;
        }
        const result word = invalidate(at, page_bytes, flush);
        if (why != nullptr)
            *why = word;
        return word == result::ok ? fault_word::served : fault_word::failed;
    }

    // ---- watch counts -----------------------------------------------------------------------

    // Somebody else wants to be told of stores to these pages, or does not any more. All of them or
    // none.
    result watch(std::uint64_t guest_addr, std::uint64_t size_bytes, bool taken) noexcept
    {
        const span all = span_of(guest_addr, size_bytes);
        if (!all.valid)
            return result::outside;
        if (!pages_.touch(all))
            return result::refused;
        take_all(all);
        result word = result::ok;
        for (std::uint64_t at = all.first; at < all.end; at += page_bytes)
            if (pages_.find(at)->watches == (taken ? watches_most : 0))
                word = result::conflict;
        std::uint64_t at = all.first;
        for (; at < all.end && word == result::ok; at += page_bytes)
            if (!count(at, taken))
                word = result::refused;
        // Back to the first; the refused one, just before `at`, has changed nothing.
        for (at -= page_bytes; word == result::refused && at > all.first;) {
            at -= page_bytes;
            (void)count(at, !taken);
        }
        give_all(all);
        return word;
    }

    // What is known of the page of an address.
    struct view {
        bool cpu, gpu, writable;
        unsigned watches, returns;
    };
    view page_view(std::uint64_t guest_addr) const noexcept
    {
        const page *one = span_of(guest_addr, 1).valid ? pages_.find(guest_addr) : nullptr;
        if (one == nullptr)
            return {true, false, true, 0, 0};
        return {one->whose == owner::cpu, one->whose == owner::gpu, one->open(), one->watches,
                one->returns};
    }

  private:
    static constexpr unsigned flush_rounds = 8;
    static constexpr std::uint8_t watches_most = 127;
    // A page's lock, for as long as this lives.
    class hold {
      public:
        hold(Host &host, std::uint64_t at, page &one) noexcept : host_(host), at_(at), one_(one)
        {
            host_.lock(at_, one_.lock);
        }
        ~hold()
        {
            host_.unlock(at_, one_.lock);
        }
        hold(const hold &) = delete;
        hold &operator=(const hold &) = delete;

      private:
        Host &host_;
        std::uint64_t at_;
        page &one_;
    };

    Host &host_;
    page_table pages_;

    // Change whose a page is, under its lock, and with it what the host lets through.
    result give(std::uint64_t at, page &one, owner to) noexcept
    {
        const owner from = one.whose;
        const bool was_open = one.open();
        one.whose = to;
        if (one.open() == was_open || host_.protect(at, page_bytes, one.open()))
            return result::ok;
        one.whose = from;
        return result::refused;
    }

    // Change how many watch a page, under its lock; false: refused, and nothing has changed.
    bool count(std::uint64_t at, bool taken) noexcept
    {
        page &one = *pages_.find(at);
        const std::uint8_t before = one.watches;
        const bool was_open = one.open();
        one.watches = static_cast<std::uint8_t>(taken ? before + 1 : before - 1);
        if (one.open() == was_open || host_.protect(at, page_bytes, one.open()))
            return true;
        one.watches = before;
        return false;
    }

    template <class Flush>
    result invalidate_page(std::uint64_t at, page &one, Flush &flush) noexcept
    {
        for (unsigned round = 0;; round++) {
            std::uint8_t before = 0;
            {
                hold held(host_, at, one);
                if (one.whose != owner::gpu)
                    return give(at, one, owner::cpu);
                before = one.returns;
            }
            if (round == flush_rounds)
                return result::livelock;
            flush(at, page_bytes);
            hold held(host_, at, one);
            if (one.whose == owner::gpu && one.returns == before)
                return result::retained;
        }
    }

    // Take a page's lock and keep it, if the page is this side's.
    bool take_if(std::uint64_t at, owner whose) noexcept
    {
        page *one = pages_.find(at);
        if (one == nullptr)
            return false;
        host_.lock(at, one->lock);
        if (one->whose == whose)
            return true;
        host_.unlock(at, one->lock);
        return false;
    }

    bool any(std::uint64_t guest_addr, std::uint64_t size_bytes, owner whose) noexcept
    {
        const span all = span_of(guest_addr, size_bytes);
        for (std::uint64_t at = all.first; all.valid && at < all.end; at += page_bytes) {
            page *one = pages_.find(at);
            if (one == nullptr) {
                if (whose == owner::cpu)
                    return true;
                continue;
            }
            hold held(host_, at, *one);
            if (one->whose == whose)
                return true;
        }
        return false;
    }

    void take_all(const span &all) noexcept
    {
        for (std::uint64_t at = all.first; at < all.end; at += page_bytes)
            host_.lock(at, pages_.find(at)->lock);
    }
    void give_all(const span &all) noexcept
    {
        for (std::uint64_t at = all.first; at < all.end; at += page_bytes)
            host_.unlock(at, pages_.find(at)->lock);
    }

    // All pages of the range, unless one of them is `refuse`.
    result hand_over(std::uint64_t guest_addr, std::uint64_t size_bytes, owner refuse,
                     owner to) noexcept
    {
        const span all = span_of(guest_addr, size_bytes);
        if (!all.valid)
            return result::outside;
        if (!pages_.touch(all))
            return result::refused;
        take_all(all);
        result word = result::ok;
        for (std::uint64_t at = all.first; at < all.end; at += page_bytes)
            if (pages_.find(at)->whose == refuse)
                word = result::conflict;
        for (std::uint64_t at = all.first; at < all.end && word == result::ok; at += page_bytes)
            word = give(at, *pages_.find(at), to);
        give_all(all);
        return word;
    }

    template <class Range> void hand_up(const span &found, Range &range) noexcept
    {
        range(found.first, found.end - found.first);
        if (built_bug != bug::copy_before_close)
            return;
        for (std::uint64_t at = found.first; at < found.end; at += page_bytes) {
            page &one = *pages_.find(at);
            hold held(host_, at, one);
            if (one.whose == owner::cpu)
                (void)give(at, one, owner::clean);
        }
    }

    template <class Range, class Done>
    result upload_written(const span &all, Range &range, Done &done) noexcept
    {
        if (!pages_.touch(all))
            return result::refused;
        take_all(all);
        result word = result::ok;
        run found{};
        for (std::uint64_t at = all.first; at < all.end && word == result::ok; at += page_bytes) {
            page &one = *pages_.find(at);
            const bool dirty = one.whose == owner::cpu;
            if (dirty)
                word = give(at, one, owner::clean);
            if (word == result::ok && found.add(at, dirty)) {
                const span taken = found.take();
                range(taken.first, taken.end - taken.first);
            }
        }
        if (!found.empty()) {
            const span taken = found.take();
            range(taken.first, taken.end - taken.first);
        }
        if (word == result::ok)
            done();
        for (std::uint64_t at = all.first; at < all.end && word == result::ok; at += page_bytes)
            word = give(at, *pages_.find(at), owner::gpu);
        give_all(all);
        return word;
    }
};

} // namespace example

#endif
