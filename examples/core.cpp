// The example's tracker as a plug-in: `trk core-check` and `trk sim --core` run it under the
// simulator.
//
// The tracker is the one that emulator.cpp runs on real faults. Only what it asks of the world is
// another: protection calls and locks go to the simulator's host.
#include <map>
#include <memory>
#include <set>

#include "page_tracker.hpp"
#include "simulator/core_plugin.hpp"

namespace {

using address = std::uint64_t;

// What page_tracker asks of the world. A page's own lock does not know the host: beside each stands
// one that does.
class plugin_host {
  public:
    explicit plugin_host(const trk::core_owner &owner) : owner_(owner)
    {
    }
    bool protect(address guest_addr, address size_bytes, bool writable)
    {
        const std::uint32_t rights = writable ? TRK_CORE_READ | TRK_CORE_WRITE : TRK_CORE_READ;
        if (owner_.protect(guest_addr, size_bytes, rights) != 0)
            return false;
        for (address at = guest_addr; at < guest_addr + size_bytes; at += example::page_bytes)
            rights_[at] = rights;
        return true;
    }
    void lock(address page_addr, example::page_lock &lock)
    {
        std::unique_ptr<trk::core_mutex> &beside = locks_[page_addr];
        if (beside == nullptr)
            beside = std::make_unique<trk::core_mutex>();
        beside->lock();
        lock.take();
    }
    void unlock(address page_addr, example::page_lock &lock)
    {
        lock.give();
        locks_[page_addr]->unlock();
    }

    // What the host was last told of a page.
    std::uint32_t rights(address page_addr) const
    {
        const auto known = rights_.find(page_addr);
        return known != rights_.end() ? known->second : TRK_CORE_READ | TRK_CORE_WRITE;
    }
    // The pages that were ever locked, in order; with whether they are now.
    const std::map<address, std::unique_ptr<trk::core_mutex>> &locks() const
    {
        return locks_;
    }

  private:
    trk::core_owner owner_;
    std::map<address, std::unique_ptr<trk::core_mutex>> locks_;
    std::map<address, std::uint32_t> rights_;
};

class page_core {
  public:
    explicit page_core(const trk::core_owner &owner) : owner_(owner), host_(owner), tracker_(host_)
    {
        if (!tracker_.usable())
            throw std::bad_alloc();
    }

    // It has one size of pages and one way to invalidate, and no generations.
    static bool accepts(const trk_core_policy &policy)
    {
        return policy.page_size_bytes == example::page_bytes && policy.invalidate == 0 &&
               policy.download == 0 && policy.arena == 0 && policy.generations == 0;
    }

    trk_core_page page(address guest_addr) const
    {
        const auto view = tracker_.page_view(guest_addr);
        trk_core_page out{};
        out.cpu_dirty = view.cpu;
        out.gpu_dirty = view.gpu;
        out.registered = true;
        out.write_watches = view.watches + (view.cpu ? 0u : 1u);
        out.guest_rights = TRK_CORE_READ | TRK_CORE_WRITE;
        out.host_rights = host_.rights(guest_addr / example::page_bytes * example::page_bytes);
        return out;
    }
    trk_core_fault fault(address guest_addr, bool store)
    {
        if (refuses(guest_addr))
            return TRK_CORE_UNHANDLED;
        example::result why = example::result::ok;
        const auto flush = [this](address at, address size) { owner_.flush(at, size); };
        switch (tracker_.fault(guest_addr, store, flush, &why)) {
        case example::fault_word::served:
            return TRK_CORE_SERVED;
        case example::fault_word::retry:
        case example::fault_word::watched: // until the client has opened it
            return TRK_CORE_RETRY;
        case example::fault_word::failed:
            (void)told(guest_addr, why);
            return TRK_CORE_UNHANDLED;
        case example::fault_word::not_ours:
            break;
        }
        return TRK_CORE_UNHANDLED;
    }
    trk_core_status upload(const trk::core_transfer &asked)
    {
        if (refuses(asked.guest_addr()))
            return TRK_CORE_REENTRY;
        const std::uint32_t self = trk::core_self();
        return told(asked.guest_addr(), tracker_.upload(
                                            asked.guest_addr(), asked.size_bytes(), asked.written(),
                                            [&](address at, address size) {
                                                uploading_.insert(self);
                                                asked.range(at, size);
                                                uploading_.erase(self);
                                            },
                                            [&] {
                                                uploading_.insert(self);
                                                asked.done();
                                                uploading_.erase(self);
                                            }));
    }
    trk_core_status download(const trk::core_transfer &asked)
    {
        if (refuses(asked.guest_addr()))
            return TRK_CORE_REENTRY;
        return told(asked.guest_addr(),
                    tracker_.download(asked.guest_addr(), asked.size_bytes(), asked.clear(),
                                      [&](address at, address size) { asked.range(at, size); }));
    }
    trk_core_status invalidate(address guest_addr, address size_bytes, trk::core_flush flush)
    {
        if (refuses(guest_addr))
            return TRK_CORE_REENTRY;
        return told(guest_addr, tracker_.invalidate(guest_addr, size_bytes, flush));
    }

    trk_core_status is_cpu(address guest_addr, address size_bytes, bool &out)
    {
        if (refuses(guest_addr))
            return TRK_CORE_REENTRY;
        out = tracker_.is_cpu(guest_addr, size_bytes);
        return TRK_CORE_OK;
    }
    trk_core_status is_gpu(address guest_addr, address size_bytes, bool &out)
    {
        if (refuses(guest_addr))
            return TRK_CORE_REENTRY;
        out = tracker_.is_gpu(guest_addr, size_bytes);
        return TRK_CORE_OK;
    }
    trk_core_status mark_cpu(address guest_addr, address size_bytes)
    {
        if (refuses(guest_addr))
            return TRK_CORE_REENTRY;
        return told(guest_addr, tracker_.mark_cpu(guest_addr, size_bytes));
    }
    trk_core_status mark_gpu(address guest_addr, address size_bytes)
    {
        if (refuses(guest_addr))
            return TRK_CORE_REENTRY;
        return told(guest_addr, tracker_.mark_gpu(guest_addr, size_bytes));
    }
    trk_core_status unmark_gpu(address guest_addr, address size_bytes)
    {
        if (refuses(guest_addr))
            return TRK_CORE_REENTRY;
        return told(guest_addr, tracker_.unmark_gpu(guest_addr, size_bytes));
    }
    trk_core_status untrack(address guest_addr, address size_bytes)
    {
        if (refuses(guest_addr))
            return TRK_CORE_REENTRY;
        return told(guest_addr, tracker_.untrack(guest_addr, size_bytes), TRK_CORE_UNTRACK);
    }
    trk_core_status watch(address guest_addr, address size_bytes, bool add)
    {
        return told(guest_addr, tracker_.watch(guest_addr, size_bytes, add), TRK_CORE_WATCH);
    }

    // All that the tracker knows: of the pages that were ever locked. Others are as they began.
    std::uint64_t digest() const
    {
        std::uint64_t out = 0;
        for (const auto &[at, lock] : host_.locks()) {
            const auto view = tracker_.page_view(at);
            const std::uint64_t page = (view.cpu ? 1u : 0u) | (view.gpu ? 2u : 0u) |
                                       (lock->held() ? 4u : 0u) | view.watches << 3 |
                                       std::uint64_t{view.returns} << 24 | host_.rights(at) << 16;
            for (const std::uint64_t word : {at, page}) {
                out = (out ^ word) * 0x9e3779b97f4a7c15;
                out ^= out >> 29;
            }
        }
        return out;
    }

  private:
    trk::core_owner owner_;
    plugin_host host_;
    example::page_tracker<plugin_host> tracker_;
    std::set<std::uint32_t> uploading_; // threads in a callback of an upload

    // The tracker would take a call from inside an upload's callback, and its emulator makes none:
    // so the plug-in refuses it, as the interface has it.
    bool refuses(address guest_addr) const
    {
        if (uploading_.count(trk::core_self()) == 0)
            return false;
        owner_.fail(TRK_CORE_REENTRY, guest_addr, "a call from inside an upload's callback");
        return true;
    }

    // What the tracker's word is called by the simulator; refusals are told.
    trk_core_status told(address guest_addr, example::result word,
                         trk_core_status conflict = TRK_CORE_CONFLICT) const
    {
        switch (word) {
        case example::result::ok:
            return TRK_CORE_OK;
        case example::result::outside:
            return owner_.fail(TRK_CORE_RANGE, guest_addr, "the range leaves guest memory");
        case example::result::conflict:
            return owner_.fail(conflict, guest_addr, "a page is the other side's");
        case example::result::retained:
            return owner_.fail(TRK_CORE_RETAINED, guest_addr, "a flush has left a page to the GPU");
        case example::result::livelock:
            return owner_.fail(TRK_CORE_LIVELOCK, guest_addr,
                               "the GPU got a page anew behind each flush");
        case example::result::refused:
            break;
        }
        return owner_.fail(TRK_CORE_PROTECT, guest_addr, "the host did not change a page");
    }
};

} // namespace

TRK_CORE_PLUGIN(page_core, "page-tracker", "1",
                TRK_CORE_LOCKS | TRK_CORE_OPEN_LOADS | TRK_CORE_PAGE_LOCKS | TRK_CORE_OWN_WATCHES)
