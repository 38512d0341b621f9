// A C++ class as a plug-in (core_plugin.h), in a few lines.
//
//     class my_core {
//       public:
//         explicit my_core(const trk::core_owner &owner);
//         trk_core_page page(std::uint64_t guest_addr) const;
//         trk_core_fault fault(std::uint64_t guest_addr, bool store);
//         trk_core_status upload(const trk::core_transfer &upload);
//         trk_core_status download(const trk::core_transfer &download);
//         trk_core_status invalidate(std::uint64_t guest_addr, std::uint64_t size_bytes,
//                                    trk::core_flush flush);
//     };
//     TRK_CORE_PLUGIN(my_core, "mine", "build 1", 0)
//
// What else the class has is found by its name, and what it lacks is not there: drain(transfer),
// is_cpu and is_gpu(addr, size, bool &), mark_cpu, mark_gpu, unmark_gpu, untrack, register_bytes
// and unregister_bytes(addr, size), guest_rights(addr, size, rights), lock and unlock(addr),
// watch(addr, size, bool add), digest(), and static bool accepts(const trk_core_policy &).
// An exception that leaves a method ends the case; the report has the method's name and what().
#ifndef SIMULATOR_CORE_PLUGIN_HPP
#define SIMULATOR_CORE_PLUGIN_HPP

#include <cstdint>
#include <cstdio>
#include <exception>
#include <new>
#include <type_traits>
#include <utility>

#include "simulator/core_plugin.h"

namespace trk {

// What the host does for the plug-in; set before anything of the plug-in is called.
inline const trk_core_host *core_host = nullptr;

// The running thread's number: what thread_local tells apart elsewhere.
inline std::uint32_t core_self() noexcept
{
    return core_host->self();
}

// A lock that the host knows of: with all of a tracker's locks like this, TRK_CORE_LOCKS is right.
// Fits std::lock_guard.
class core_mutex {
  public:
    void lock() noexcept
    {
        core_host->lock(&word_);
        word_ = core_host->self();
    }
    void unlock() noexcept
    {
        core_host->unlock(&word_);
        word_ = 0;
    }
    bool held() const noexcept
    {
        return word_ != 0;
    }

  private:
    std::uint32_t word_ = 0;
};

// What a tracker asks of its owner.
class core_owner {
  public:
    explicit core_owner(const trk_core_owner *owner) noexcept : owner_(owner)
    {
    }
    // 0, or an errno value and nothing has changed.
    int protect(std::uint64_t guest_addr, std::uint64_t size_bytes,
                std::uint32_t rights) const noexcept
    {
        return owner_->protect(owner_->context, guest_addr, size_bytes, rights);
    }
    // Tell a refusal, and give its status back.
    trk_core_status fail(trk_core_status status, std::uint64_t guest_addr,
                         const char *text) const noexcept
    {
        owner_->fail(owner_->context, static_cast<std::uint32_t>(status), guest_addr, text);
        return status;
    }
    // For fault(): bring GPU bytes home, and hand the pages over; or leave them clean.
    void flush(std::uint64_t guest_addr, std::uint64_t size_bytes) const noexcept
    {
        owner_->flush(owner_->context, guest_addr, size_bytes);
    }
    void read_back(std::uint64_t guest_addr, std::uint64_t size_bytes) const noexcept
    {
        owner_->read_back(owner_->context, guest_addr, size_bytes);
    }

  private:
    const trk_core_owner *owner_;
};

// An upload or a download.
class core_transfer {
  public:
    explicit core_transfer(const trk_core_transfer *asked) noexcept : asked_(asked)
    {
    }
    std::uint64_t guest_addr() const noexcept
    {
        return asked_->guest_addr;
    }
    std::uint64_t size_bytes() const noexcept
    {
        return asked_->size_bytes;
    }
    bool written() const noexcept
    {
        return asked_->written;
    }
    bool clear() const noexcept
    {
        return asked_->clear;
    }
    // Report a run of pages.
    void range(std::uint64_t guest_addr, std::uint64_t size_bytes) const noexcept
    {
        if (asked_->range != nullptr)
            asked_->range(asked_->context, guest_addr, size_bytes);
    }
    // Uploads: all runs have been reported.
    void done() const noexcept
    {
        if (asked_->done != nullptr)
            asked_->done(asked_->context);
    }

  private:
    const trk_core_transfer *asked_;
};

// The flush of an invalidate.
class core_flush {
  public:
    core_flush(trk_core_range_fn *flush, void *context) noexcept : flush_(flush), context_(context)
    {
    }
    void operator()(std::uint64_t guest_addr, std::uint64_t size_bytes) const noexcept
    {
        if (flush_ != nullptr)
            flush_(context_, guest_addr, size_bytes);
    }

  private:
    trk_core_range_fn *flush_;
    void *context_;
};

namespace core_detail {

using address = std::uint64_t;

template <class Void, template <class> class What, class T> struct has : std::false_type {
};
template <template <class> class What, class T>
struct has<std::void_t<What<T>>, What, T> : std::true_type {
};
template <template <class> class What, class T>
inline constexpr bool has_v = has<void, What, T>::value;

// clang-format off
template <class T> using accepts_t = decltype(T::accepts(std::declval<const trk_core_policy &>()));
template <class T> using drain_t = decltype(std::declval<T &>().drain(std::declval<const core_transfer &>()));
template <class T> using is_cpu_t = decltype(std::declval<T &>().is_cpu(address(), address(), std::declval<bool &>()));
template <class T> using is_gpu_t = decltype(std::declval<T &>().is_gpu(address(), address(), std::declval<bool &>()));
template <class T> using mark_cpu_t = decltype(std::declval<T &>().mark_cpu(address(), address()));
template <class T> using mark_gpu_t = decltype(std::declval<T &>().mark_gpu(address(), address()));
template <class T> using unmark_gpu_t = decltype(std::declval<T &>().unmark_gpu(address(), address()));
template <class T> using untrack_t = decltype(std::declval<T &>().untrack(address(), address()));
template <class T> using register_t = decltype(std::declval<T &>().register_bytes(address(), address()));
template <class T> using unregister_t = decltype(std::declval<T &>().unregister_bytes(address(), address()));
template <class T> using rights_t = decltype(std::declval<T &>().guest_rights(address(), address(), std::uint32_t()));
template <class T> using lock_t = decltype(std::declval<T &>().lock(address()));
template <class T> using unlock_t = decltype(std::declval<T &>().unlock(address()));
template <class T> using watch_t = decltype(std::declval<T &>().watch(address(), address(), bool()));
template <class T> using digest_t = decltype(std::declval<T &>().digest());
// clang-format on

// Say that an exception left a method.
inline void escaped(const char *method, const char *what) noexcept
{
    char text[128];
    std::snprintf(text, sizeof text, "an exception left %s: %s", method, what);
    if (core_host->size >= sizeof *core_host)
        core_host->complain(text);
}

// What a method gives; what it throws is told, and the answer is then `otherwise`.
template <class Call, class Result>
Result caught(const char *method, Result otherwise, Call &&call) noexcept
{
    try {
        return call();
    } catch (const std::exception &thrown) {
        escaped(method, thrown.what());
    } catch (...) {
        escaped(method, "no std::exception");
    }
    return otherwise;
}

template <class Call> trk_core_status guarded(const char *method, Call &&call) noexcept
{
    return caught(method, TRK_CORE_UNSUPPORTED, call);
}

template <class T> struct table {
    // What the host calls a tracker.
    struct tracker {
        explicit tracker(const trk_core_owner *given) : core(core_owner(given))
        {
        }
        T core;
    };

    static T &its(void *self) noexcept
    {
        return static_cast<tracker *>(self)->core;
    }

    static trk_core_status create(void **out, const trk_core_policy *policy,
                                  const trk_core_owner *owner) noexcept
    {
        if constexpr (has_v<accepts_t, T>) {
            if (!T::accepts(*policy))
                return TRK_CORE_UNSUPPORTED;
        } else {
            (void)policy;
        }
        return guarded("create", [=] {
            *out = new tracker(owner);
            return TRK_CORE_OK;
        });
    }
    static void destroy(void *self) noexcept
    {
        delete static_cast<tracker *>(self);
    }
    static void page(void *self, address guest_addr, trk_core_page *out) noexcept
    {
        *out = caught("page", trk_core_page{}, [=] { return its(self).page(guest_addr); });
    }
    static trk_core_fault fault(void *self, address guest_addr, bool store) noexcept
    {
        return caught("fault", TRK_CORE_UNHANDLED,
                      [=] { return its(self).fault(guest_addr, store); });
    }
    static trk_core_status upload(void *self, const trk_core_transfer *asked) noexcept
    {
        return guarded("upload", [=] { return its(self).upload(core_transfer(asked)); });
    }
    static trk_core_status download(void *self, const trk_core_transfer *asked) noexcept
    {
        return guarded("download", [=] { return its(self).download(core_transfer(asked)); });
    }
    static trk_core_status invalidate(void *self, address guest_addr, address size_bytes,
                                      trk_core_range_fn *flush, void *context) noexcept
    {
        return guarded("invalidate", [=] {
            return its(self).invalidate(guest_addr, size_bytes, core_flush(flush, context));
        });
    }

    static trk_core_table make(const char *name, const char *build, std::uint32_t features) noexcept
    {
        trk_core_table out{};
        out.size = sizeof out;
        out.abi = TRK_CORE_ABI;
        out.features = features;
        out.name = name;
        out.build = build;
        out.create = create;
        out.destroy = destroy;
        out.page = page;
        out.fault = fault;
        out.upload = upload;
        out.download = download;
        out.invalidate = invalidate;
        questions(out);
        changes(out);
        rest(out);
        return out;
    }

  private:
    static void questions(trk_core_table &out) noexcept
    {
        (void)out;
        if constexpr (has_v<is_cpu_t, T>)
            out.is_cpu = [](void *self, address guest_addr, address size_bytes, bool *answer) {
                return guarded("is_cpu",
                               [=] { return its(self).is_cpu(guest_addr, size_bytes, *answer); });
            };
        if constexpr (has_v<is_gpu_t, T>)
            out.is_gpu = [](void *self, address guest_addr, address size_bytes, bool *answer) {
                return guarded("is_gpu",
                               [=] { return its(self).is_gpu(guest_addr, size_bytes, *answer); });
            };
        if constexpr (has_v<digest_t, T>)
            out.digest = [](void *self) -> std::uint64_t {
                return caught("digest", std::uint64_t{0}, [=] { return its(self).digest(); });
            };
    }
    static void changes(trk_core_table &out) noexcept
    {
        (void)out;
        if constexpr (has_v<mark_cpu_t, T>)
            out.mark_cpu = [](void *self, address guest_addr, address size_bytes) {
                return guarded("mark_cpu",
                               [=] { return its(self).mark_cpu(guest_addr, size_bytes); });
            };
        if constexpr (has_v<mark_gpu_t, T>)
            out.mark_gpu = [](void *self, address guest_addr, address size_bytes) {
                return guarded("mark_gpu",
                               [=] { return its(self).mark_gpu(guest_addr, size_bytes); });
            };
        if constexpr (has_v<unmark_gpu_t, T>)
            out.unmark_gpu = [](void *self, address guest_addr, address size_bytes) {
                return guarded("unmark_gpu",
                               [=] { return its(self).unmark_gpu(guest_addr, size_bytes); });
            };
        if constexpr (has_v<untrack_t, T>)
            out.untrack = [](void *self, address guest_addr, address size_bytes) {
                return guarded("untrack",
                               [=] { return its(self).untrack(guest_addr, size_bytes); });
            };
        if constexpr (has_v<register_t, T>)
            out.register_bytes = [](void *self, address guest_addr, address size_bytes) {
                return guarded("register_bytes",
                               [=] { return its(self).register_bytes(guest_addr, size_bytes); });
            };
        if constexpr (has_v<unregister_t, T>)
            out.unregister_bytes = [](void *self, address guest_addr, address size_bytes) {
                return guarded("unregister_bytes",
                               [=] { return its(self).unregister_bytes(guest_addr, size_bytes); });
            };
    }
    static void rest(trk_core_table &out) noexcept
    {
        (void)out;
        if constexpr (has_v<drain_t, T>)
            out.drain = [](void *self, const trk_core_transfer *asked) {
                return guarded("drain", [=] { return its(self).drain(core_transfer(asked)); });
            };
        if constexpr (has_v<rights_t, T>)
            out.guest_rights = [](void *self, address guest_addr, address size_bytes,
                                  std::uint32_t rights) {
                return guarded("guest_rights", [=] {
                    return its(self).guest_rights(guest_addr, size_bytes, rights);
                });
            };
        if constexpr (has_v<lock_t, T>)
            out.lock = [](void *self, address guest_addr) {
                return guarded("lock", [=] { return its(self).lock(guest_addr); });
            };
        if constexpr (has_v<unlock_t, T>)
            out.unlock = [](void *self, address guest_addr) {
                return guarded("unlock", [=] { return its(self).unlock(guest_addr); });
            };
        if constexpr (has_v<watch_t, T>)
            out.watch = [](void *self, address guest_addr, address size_bytes, bool add) {
                return guarded("watch",
                               [=] { return its(self).watch(guest_addr, size_bytes, add); });
            };
    }
};

} // namespace core_detail
} // namespace trk

// The shared object's one function. features: bits of trk_core_feature.
#define TRK_CORE_PLUGIN(class_, name_, build_, features_)                                          \
    const struct trk_core_table *trk_core_plugin(const struct trk_core_host *host)                 \
    {                                                                                              \
        static const struct trk_core_table table =                                                 \
            trk::core_detail::table<class_>::make(name_, build_, features_);                       \
        trk::core_host = host;                                                                     \
        return host->abi == TRK_CORE_ABI ? &table : nullptr;                                       \
    }

#endif
