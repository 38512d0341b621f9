// The example's tracker, hooked for recording: all that it takes.
#ifndef EXAMPLES_NOTED_TRACKER_HPP
#define EXAMPLES_NOTED_TRACKER_HPP

#include "page_tracker.hpp"
#include "world.hpp"

namespace example {

// What the tracker asks of the world, with a note behind each answer.
class noted_host {
  public:
    explicit noted_host(const memory &guest) noexcept : guest_(guest)
    {
    }

    bool protect(std::uint64_t guest_addr, std::uint64_t size_bytes, bool writable) noexcept
    {
        const int rights = writable ? PROT_READ | PROT_WRITE : PROT_READ;
        const int error = mprotect(guest_.guest(guest_addr), size_bytes, rights) == 0 ? 0 : errno;
        trk_capture_host_protect(tracker_id, guest_addr, size_bytes,
                                 writable ? TRK_RIGHTS_RW : TRK_RIGHT_READ, error);
        return error == 0;
    }
    void lock(std::uint64_t page_addr, page_lock &one) noexcept
    {
        one.take();
        holds_[number(page_addr)] = trk_capture_lock(tracker_id, number(page_addr));
    }
    void unlock(std::uint64_t page_addr, page_lock &one) noexcept
    {
        const std::uint32_t hold = holds_[number(page_addr)];
        one.give();
        trk_capture_unlock(tracker_id, number(page_addr), hold);
    }

  private:
    const memory &guest_;
    std::uint32_t holds_[window_pages] = {}; // of each page's lock, written under it

    static std::uint32_t number(std::uint64_t page_addr) noexcept
    {
        return static_cast<std::uint32_t>((page_addr - window_addr) / page_bytes);
    }
};

// The tracker has the usual names; only its words for how a call ended are its own.
struct shape : trk::capture::usual_shape {
    template <class T, class Flush>
    static fault_word fault(T &tracker, std::uint64_t guest_addr, trk_access access, Flush &flush)
    {
        return tracker.fault(guest_addr, access == TRK_ACCESS_WRITE, flush);
    }
    static trk_status status_of(result word) noexcept
    {
        return word == result::ok         ? TRK_OK
               : word == result::outside  ? TRK_E_RANGE
               : word == result::conflict ? TRK_E_CONFLICT
               : word == result::retained ? TRK_E_RETAINED
               : word == result::livelock ? TRK_E_LIVELOCK
                                          : TRK_E_PROTECT;
    }
    static trk_fault_outcome outcome_of(fault_word word) noexcept
    {
        return word == fault_word::served  ? TRK_FAULT_SERVED
               : word == fault_word::retry ? TRK_FAULT_RETRY
                                           : TRK_FAULT_UNHANDLED;
    }
};

using noted_tracker = trk::capture::adapter<page_tracker<noted_host>, shape>;

// Say what is going to be noted: once, before the tracker's first operation.
inline trk_status declare_tracker(trk_error *error) noexcept
{
    trk_capture_foreign foreign = trk_capture_foreign_default();
    foreign.id = tracker_id;
    foreign.page_size_bytes = static_cast<std::uint32_t>(page_bytes);
    foreign.locks = {TRK_LOCK_PAGE, static_cast<std::uint32_t>(window_pages), window_addr,
                     page_bytes};
    return trk_capture_foreign_declare(&foreign, error);
}

} // namespace example

#endif
