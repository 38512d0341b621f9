// The five calls that bench_core.cpp makes, on top of libtrack; its host calls only count.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <type_traits>

#include "track/tracker.h"

struct Peer {
    trk_tracker *tracker = nullptr;
    trk_backend backend{};

    static int protect(trk_backend *, uint64_t guest_addr, uint64_t size_bytes, unsigned rights)
    {
        return stub_protect(guest_addr, size_bytes, rights < 2 ? static_cast<int>(rights) : 2) ? 0 : 12;
    }

    Peer()
    {
        backend.kind = TRK_BACKEND_MPROTECT;
        backend.name = "counting";
        backend.protect = protect;
        trk_tracker_options options = trk_tracker_options_default();
        options.backend = &backend;
        if (trk_tracker_create(&tracker, &options, nullptr) != TRK_OK)
            abort();
    }

    static void must(trk_status status)
    {
        if (status != TRK_OK)
            abort();
    }

    bool cpu(uint64_t guest_addr, uint64_t size_bytes)
    {
        bool result = false;
        must(trk_tracker_is_cpu(tracker, guest_addr, size_bytes, &result));
        return result;
    }

    bool gpu(uint64_t guest_addr, uint64_t size_bytes)
    {
        bool result = false;
        must(trk_tracker_is_gpu(tracker, guest_addr, size_bytes, &result));
        return result;
    }

    template <class F> static void on_flush(void *context, uint64_t, uint64_t)
    {
        (*static_cast<F *>(context))();
    }

    template <class F> static void on_range(void *context, uint64_t guest_addr, uint64_t size_bytes)
    {
        (*static_cast<F *>(context))(guest_addr, size_bytes);
    }

    template <class F> void inval(uint64_t guest_addr, uint64_t size_bytes, F &&flush)
    {
        using flush_type = std::remove_reference_t<F>;
        must(trk_tracker_invalidate(tracker, guest_addr, size_bytes, on_flush<flush_type>,
                                    const_cast<void *>(static_cast<const void *>(&flush))));
    }

    template <class F> trk_transfer transfer(uint64_t guest_addr, uint64_t size_bytes, F &range)
    {
        trk_transfer request{};
        request.size = sizeof request;
        request.guest_addr = guest_addr;
        request.size_bytes = size_bytes;
        request.range = on_range<F>;
        request.context = &range;
        return request;
    }

    template <class F> void upload(uint64_t guest_addr, uint64_t size_bytes, bool written, F &&range)
    {
        trk_transfer request = transfer(guest_addr, size_bytes, range);
        request.written = written;
        must(trk_tracker_upload(tracker, &request));
    }

    template <class F> void download(uint64_t guest_addr, uint64_t size_bytes, F &&range)
    {
        trk_transfer request = transfer(guest_addr, size_bytes, range);
        request.clear = true;
        must(trk_tracker_download(tracker, &request));
    }
};

static constexpr size_t kRegionBytes = 768;
