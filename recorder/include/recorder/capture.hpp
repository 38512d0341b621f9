// Recording from inside an emulator, for C++17: scopes over recorder/capture.h, and an adapter that
// notes what a tracker of the usual shape does.
//
// Header only, nothing virtual, nothing thrown, nothing allocated. Everything here may run while
// locks are held and in a fault handler; while nothing is recorded a note is one branch.
#ifndef RECORDER_CAPTURE_HPP
#define RECORDER_CAPTURE_HPP

#include <cstdint>
#include <type_traits>
#include <utility>

#include "recorder/foreign.h"

namespace trk::capture {

// ---- scopes ------------------------------------------------------------------------------------

// What stands between its construction and its end is one thing; it is neither copied nor moved.
class scope {
  public:
    scope(const scope &) = delete;
    scope &operator=(const scope &) = delete;

  protected:
    scope() noexcept = default;
    ~scope() = default;
};

// The calling thread, from its beginning to its end.
class thread_scope : scope {
  public:
    thread_scope(const char *name, trk_thread_role role) noexcept
    {
        trk_capture_thread(name, role);
    }
    ~thread_scope()
    {
        trk_capture_thread_end();
    }
};

// A copy between guest memory and the GPU's copy of it.
class copy_scope : scope {
  public:
    copy_scope(trk_copy direction, std::uint64_t guest_addr, std::uint64_t size_bytes,
               std::uint16_t object = 0) noexcept
        : direction_(direction), object_(object), guest_addr_(guest_addr), size_bytes_(size_bytes)
    {
        trk_capture_copy_begin(direction_, guest_addr_, size_bytes_, object_);
    }
    ~copy_scope()
    {
        trk_capture_copy_end(direction_, guest_addr_, size_bytes_, object_);
    }

  private:
    trk_copy direction_;
    std::uint16_t object_;
    std::uint64_t guest_addr_, size_bytes_;
};

// An operation of a tracker. Without a word about its end it has ended well.
class operation : scope {
  public:
    explicit operation(const trk_capture_op &op) noexcept : op_(op.op)
    {
        trk_capture_op_begin(&op);
    }
    ~operation()
    {
        trk_capture_op_end(op_, status_, value_);
    }
    void end(trk_status status, std::uint64_t value = 0) noexcept
    {
        status_ = status;
        value_ = value;
    }

  private:
    trk_op op_;
    trk_status status_ = TRK_OK;
    std::uint64_t value_ = 0;
};

// A fault, from the first line of the handler to its last. Without a word it was not ours.
class fault_scope : scope {
  public:
    fault_scope(std::uint32_t tracker, std::uint64_t guest_addr, trk_access access) noexcept
        : tracker_(tracker), guest_addr_(guest_addr)
    {
        trk_capture_fault_begin(tracker, guest_addr, access);
    }
    ~fault_scope()
    {
        if (!decided_)
            decide(outcome_ == TRK_FAULT_SERVED  ? TRK_DECISION_OPEN
                   : outcome_ == TRK_FAULT_RETRY ? TRK_DECISION_RETRY
                                                 : TRK_DECISION_NOT_OURS);
        trk_capture_fault_end(outcome_);
    }
    // What the handler is about to do; told from the outcome where nobody says it.
    void decide(trk_decision decision) noexcept
    {
        decided_ = true;
        trk_capture_decision(tracker_, guest_addr_, decision);
    }
    void end(trk_fault_outcome outcome) noexcept
    {
        outcome_ = outcome;
    }

  private:
    std::uint32_t tracker_;
    std::uint64_t guest_addr_;
    trk_fault_outcome outcome_ = TRK_FAULT_UNHANDLED;
    bool decided_ = false;
};

// A lock of a tracker's, held for as long as this lives, its holds counted by the recorder. For a
// lock that is taken and released in different places: trk_capture_lock and trk_capture_unlock.
template <class Lock> class guard : scope {
  public:
    guard(Lock &lock, std::uint32_t tracker, std::uint32_t number) noexcept
        : lock_(lock), tracker_(tracker), number_(number)
    {
        lock_.lock();
        hold_ = trk_capture_lock(tracker_, number_);
    }
    ~guard()
    {
        lock_.unlock();
        trk_capture_unlock(tracker_, number_, hold_);
    }

  private:
    Lock &lock_;
    std::uint32_t tracker_, number_;
    std::uint32_t hold_ = 0;
};

// ---- a tracker of the usual shape --------------------------------------------------------------

/*
 * How the adapter calls a tracker. Derive from it and hide what is called otherwise, or does not
 * end with a bool (true: done), a trk_status or nothing. What is never asked for need not exist.
 */
struct usual_shape {
    template <class T> static decltype(auto) is_cpu(T &t, std::uint64_t a, std::uint64_t n)
    {
        return t.is_cpu(a, n);
    }
    template <class T> static decltype(auto) is_gpu(T &t, std::uint64_t a, std::uint64_t n)
    {
        return t.is_gpu(a, n);
    }
    template <class T> static decltype(auto) mark_cpu(T &t, std::uint64_t a, std::uint64_t n)
    {
        return t.mark_cpu(a, n);
    }
    template <class T> static decltype(auto) mark_gpu(T &t, std::uint64_t a, std::uint64_t n)
    {
        return t.mark_gpu(a, n);
    }
    template <class T> static decltype(auto) unmark_gpu(T &t, std::uint64_t a, std::uint64_t n)
    {
        return t.unmark_gpu(a, n);
    }
    template <class T> static decltype(auto) untrack(T &t, std::uint64_t a, std::uint64_t n)
    {
        return t.untrack(a, n);
    }
    // range(guest_addr, size_bytes) for each run that goes up, done() when all have been handed
    // over.
    template <class T, class Range, class Done>
    static decltype(auto) upload(T &t, std::uint64_t a, std::uint64_t n, bool written, Range &range,
                                 Done &done)
    {
        return t.upload(a, n, written, range, done);
    }
    template <class T, class Range>
    static decltype(auto) download(T &t, std::uint64_t a, std::uint64_t n, bool clear, Range &range)
    {
        return t.download(a, n, clear, range);
    }
    // flush(guest_addr, size_bytes) where the GPU's bytes must come home first.
    template <class T, class Flush>
    static decltype(auto) invalidate(T &t, std::uint64_t a, std::uint64_t n, Flush &flush)
    {
        return t.invalidate(a, n, flush);
    }
    template <class T, class Flush>
    static decltype(auto) fault(T &t, std::uint64_t a, trk_access access, Flush &flush)
    {
        return t.fault(a, access, flush);
    }
    // A watch count of each page goes up, or down.
    template <class T>
    static decltype(auto) watch(T &t, std::uint64_t a, std::uint64_t n, bool taken)
    {
        return t.watch(a, n, taken);
    }

    static trk_status status_of(bool done) noexcept
    {
        return done ? TRK_OK : TRK_E_CONFLICT;
    }
    static trk_status status_of(trk_status status) noexcept
    {
        return status;
    }
    static trk_fault_outcome outcome_of(bool served) noexcept
    {
        return served ? TRK_FAULT_SERVED : TRK_FAULT_UNHANDLED;
    }
    static trk_fault_outcome outcome_of(trk_fault_outcome outcome) noexcept
    {
        return outcome;
    }
};

/*
 * A tracker with notes: the same calls, each noted with the runs that it hands over and the
 * callbacks that it makes. Its locks and protection calls are noted where they are made: guard, and
 * trk_capture_host_protect. The tracker is declared by trk_capture_foreign_declare before.
 */
template <class Tracker, class Shape = usual_shape> class adapter {
  public:
    adapter(Tracker &tracker, std::uint32_t id) noexcept : tracker_(tracker), id_(id)
    {
    }

    Tracker &unnoted() noexcept
    {
        return tracker_;
    }

    bool is_cpu(std::uint64_t guest_addr, std::uint64_t size_bytes) noexcept
    {
        return asked(note(TRK_OP_IS_CPU, guest_addr, size_bytes),
                     [&] { return Shape::is_cpu(tracker_, guest_addr, size_bytes); });
    }
    bool is_gpu(std::uint64_t guest_addr, std::uint64_t size_bytes) noexcept
    {
        return asked(note(TRK_OP_IS_GPU, guest_addr, size_bytes),
                     [&] { return Shape::is_gpu(tracker_, guest_addr, size_bytes); });
    }
    auto mark_cpu(std::uint64_t guest_addr, std::uint64_t size_bytes,
                  trk_origin origin = TRK_ORIGIN_NOT_SAID) noexcept
    {
        return done(note(TRK_OP_MARK_CPU, guest_addr, size_bytes, 0, origin),
                    [&] { return Shape::mark_cpu(tracker_, guest_addr, size_bytes); });
    }
    auto mark_gpu(std::uint64_t guest_addr, std::uint64_t size_bytes,
                  trk_origin origin = TRK_ORIGIN_NOT_SAID) noexcept
    {
        return done(note(TRK_OP_MARK_GPU, guest_addr, size_bytes, 0, origin),
                    [&] { return Shape::mark_gpu(tracker_, guest_addr, size_bytes); });
    }
    auto unmark_gpu(std::uint64_t guest_addr, std::uint64_t size_bytes,
                    trk_origin origin = TRK_ORIGIN_NOT_SAID) noexcept
    {
        return done(note(TRK_OP_UNMARK_GPU, guest_addr, size_bytes, 0, origin),
                    [&] { return Shape::unmark_gpu(tracker_, guest_addr, size_bytes); });
    }
    auto untrack(std::uint64_t guest_addr, std::uint64_t size_bytes,
                 trk_origin origin = TRK_ORIGIN_NOT_SAID) noexcept
    {
        return done(note(TRK_OP_UNTRACK, guest_addr, size_bytes, 0, origin),
                    [&] { return Shape::untrack(tracker_, guest_addr, size_bytes); });
    }

    template <class Range, class Done>
    auto upload(std::uint64_t guest_addr, std::uint64_t size_bytes, bool written, Range &&range,
                Done &&done_call) noexcept
    {
        std::uint64_t runs = 0;
        auto noted_range = [&](std::uint64_t first, std::uint64_t bytes) {
            runs++;
            trk_capture_handed(id_, first, bytes);
            range(first, bytes);
        };
        auto noted_done = [&] {
            trk_capture_callback(TRK_CALLBACK_COMPLETION);
            done_call();
        };
        const unsigned flags = written ? TRK_OP_FLAG_WRITTEN : 0;
        return done(
            note(TRK_OP_UPLOAD, guest_addr, size_bytes, flags),
            [&]() -> decltype(auto) {
                return Shape::upload(tracker_, guest_addr, size_bytes, written, noted_range,
                                     noted_done);
            },
            &runs);
    }
    template <class Range>
    auto upload(std::uint64_t guest_addr, std::uint64_t size_bytes, bool written,
                Range &&range) noexcept
    {
        return upload(guest_addr, size_bytes, written, range, [] {});
    }

    template <class Range>
    auto download(std::uint64_t guest_addr, std::uint64_t size_bytes, bool clear,
                  Range &&range) noexcept
    {
        std::uint64_t runs = 0;
        auto noted_range = [&](std::uint64_t first, std::uint64_t bytes) {
            runs++;
            trk_capture_handed(id_, first, bytes);
            range(first, bytes);
        };
        const unsigned flags = clear ? TRK_OP_FLAG_CLEAR : 0;
        return done(
            note(TRK_OP_DOWNLOAD, guest_addr, size_bytes, flags),
            [&]() -> decltype(auto) {
                return Shape::download(tracker_, guest_addr, size_bytes, clear, noted_range);
            },
            &runs);
    }

    template <class Flush>
    auto invalidate(std::uint64_t guest_addr, std::uint64_t size_bytes, Flush &&flush,
                    trk_origin origin = TRK_ORIGIN_NOT_SAID) noexcept
    {
        std::uint64_t flushes = 0;
        auto noted_flush = [&](std::uint64_t first, std::uint64_t bytes) {
            flushes++;
            trk_capture_callback(TRK_CALLBACK_FLUSH);
            flush(first, bytes);
        };
        const trk_capture_op op =
            note(TRK_OP_INVALIDATE, guest_addr, size_bytes, TRK_OP_FLAG_FLUSH, origin);
        return done(
            op,
            [&]() -> decltype(auto) {
                return Shape::invalidate(tracker_, guest_addr, size_bytes, noted_flush);
            },
            &flushes);
    }

    template <class Flush>
    trk_fault_outcome fault(std::uint64_t guest_addr, trk_access access, Flush &&flush) noexcept
    {
        fault_scope noted(id_, guest_addr, access);
        auto noted_flush = [&](std::uint64_t first, std::uint64_t bytes) {
            noted.decide(access == TRK_ACCESS_WRITE ? TRK_DECISION_FLUSH : TRK_DECISION_READ_BACK);
            trk_capture_callback(access == TRK_ACCESS_WRITE ? TRK_CALLBACK_FLUSH
                                                            : TRK_CALLBACK_READ_BACK);
            flush(first, bytes);
        };
        const trk_fault_outcome outcome =
            Shape::outcome_of(Shape::fault(tracker_, guest_addr, access, noted_flush));
        noted.end(outcome);
        return outcome;
    }

    auto watch(std::uint64_t guest_addr, std::uint64_t size_bytes, bool taken) noexcept
    {
        return done(note(taken ? TRK_OP_WATCH : TRK_OP_UNWATCH, guest_addr, size_bytes),
                    [&] { return Shape::watch(tracker_, guest_addr, size_bytes, taken); });
    }

  private:
    Tracker &tracker_;
    std::uint32_t id_;

    trk_capture_op note(trk_op op, std::uint64_t guest_addr, std::uint64_t size_bytes,
                        unsigned flags = 0, trk_origin origin = TRK_ORIGIN_NOT_SAID) const noexcept
    {
        return {op, id_, guest_addr, size_bytes, flags, origin};
    }

    template <class Call> static bool asked(const trk_capture_op &op, Call &&call) noexcept
    {
        operation noted(op);
        const bool answer = call();
        noted.end(TRK_OK, answer);
        return answer;
    }

    // Make the call; what it counts meanwhile is the operation's value.
    template <class Call>
    static auto done(const trk_capture_op &op, Call &&call,
                     const std::uint64_t *value = nullptr) noexcept
    {
        operation noted(op);
        if constexpr (std::is_void_v<decltype(call())>) {
            call();
            noted.end(TRK_OK, value == nullptr ? 0 : *value);
        } else {
            auto result = call();
            noted.end(Shape::status_of(result), value == nullptr ? 0 : *value);
            return result;
        }
    }
};

} // namespace trk::capture

#endif
