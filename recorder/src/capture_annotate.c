/*
 * Annotation calls: each fills one event as event.h lays it out. Where nothing is recorded they are
 * a look at the gate, before anything is filled.
 */
#include "capture_emit.h"
#include "recorder/capture.h"
#include "recorder/page_hash.h"
#include "track/address.h"

static void copy_event(uint8_t type, enum trk_copy direction, uint64_t guest_addr,
                       uint64_t size_bytes, uint16_t resource)
{
    struct trk_event event = {
        .argument = guest_addr, .type = type, .page = resource, .context = (uint16_t)direction};
    trk_event_set_size(&event, size_bytes);
    trk_capture_append(&event);
}

void trk_capture_copy_begin(enum trk_copy direction, uint64_t guest_addr, uint64_t size_bytes,
                            uint16_t resource)
{
    if (!trk_capture_gate_is_open())
        return;
    copy_event(TRK_EVENT_COPY_BEGIN, direction, guest_addr, size_bytes, resource);
}

void trk_capture_copy_end(enum trk_copy direction, uint64_t guest_addr, uint64_t size_bytes,
                          uint16_t resource)
{
    if (!trk_capture_gate_is_open())
        return;
    copy_event(TRK_EVENT_COPY_END, direction, guest_addr, size_bytes, resource);
}

void trk_capture_pages(enum trk_page_moment moment, uint64_t guest_addr, const void *bytes,
                       uint64_t size_bytes)
{
    if (!trk_capture_wants_hashes())
        return;
    uint64_t skip = -guest_addr & (TRK_HOST_PAGE_BYTES - 1); /* to the first whole page */
    for (; skip + TRK_HOST_PAGE_BYTES <= size_bytes; skip += TRK_HOST_PAGE_BYTES) {
        struct trk_event event = {
            .argument = guest_addr + skip, .type = TRK_EVENT_PAGE, .flags = (uint8_t)moment};
        trk_event_set_size(&event, trk_page_hash((const char *)bytes + skip, TRK_HOST_PAGE_BYTES));
        trk_capture_append(&event);
    }
}

void trk_capture_gpu_write(uint64_t guest_addr, uint32_t size_bytes, uint32_t tick, uint32_t stamp)
{
    if (!trk_capture_gate_is_open())
        return;
    struct trk_event event = {
        .argument = guest_addr, .type = TRK_EVENT_GPU_WRITE, .seq = size_bytes, .domain = stamp};
    trk_event_set_number32(&event, tick);
    trk_capture_append(&event);
}

void trk_capture_gpu_read(uint64_t guest_addr, uint32_t size_bytes, uint32_t tick)
{
    if (!trk_capture_gate_is_open())
        return;
    struct trk_event event = {
        .argument = guest_addr, .type = TRK_EVENT_GPU_READ, .seq = size_bytes};
    trk_event_set_number32(&event, tick);
    trk_capture_append(&event);
}

void trk_capture_gpu_complete(uint64_t tick)
{
    if (!trk_capture_gate_is_open())
        return;
    struct trk_event event = {.argument = tick, .type = TRK_EVENT_GPU_COMPLETE};
    trk_capture_append(&event);
}

void trk_capture_guest_protect(uint64_t guest_addr, uint64_t size_bytes, unsigned rights)
{
    if (!trk_capture_gate_is_open())
        return;
    struct trk_event event = {
        .argument = guest_addr, .type = TRK_EVENT_GUEST_PROTECT, .context = (uint16_t)rights};
    trk_event_set_size(&event, size_bytes);
    trk_capture_append(&event);
}

void trk_capture_map(uint64_t guest_addr, uint64_t size_bytes, uint32_t frame, unsigned rights,
                     unsigned map_flags)
{
    if (!trk_capture_gate_is_open())
        return;
    struct trk_event event = {.argument = guest_addr,
                              .type = TRK_EVENT_MAP,
                              .flags = (uint8_t)map_flags,
                              .context = (uint16_t)rights};
    trk_event_set_size(&event, size_bytes);
    trk_event_set_number32(&event, frame);
    trk_capture_append(&event);
}

void trk_capture_unmap(uint64_t guest_addr, uint64_t size_bytes)
{
    if (!trk_capture_gate_is_open())
        return;
    struct trk_event event = {.argument = guest_addr, .type = TRK_EVENT_UNMAP};
    trk_event_set_size(&event, size_bytes);
    trk_capture_append(&event);
}

void trk_capture_invalidate_request(uint64_t guest_addr, uint64_t size_bytes,
                                    enum trk_request_outcome outcome)
{
    if (!trk_capture_gate_is_open())
        return;
    struct trk_event event = {
        .argument = guest_addr, .type = TRK_EVENT_INVALIDATE_REQUEST, .context = (uint16_t)outcome};
    trk_event_set_size(&event, size_bytes);
    trk_capture_append(&event);
}

void trk_capture_frame(uint64_t number)
{
    if (!trk_capture_gate_is_open())
        return;
    struct trk_event event = {.argument = number, .type = TRK_EVENT_FRAME};
    trk_capture_append(&event);
}

static void witness_event(uint8_t type, enum trk_agent agent, uint64_t guest_addr,
                          uint32_t size_bytes, uint32_t stamp)
{
    struct trk_event event = {.argument = guest_addr,
                              .seq = size_bytes,
                              .domain = stamp,
                              .type = type,
                              .flags = (uint8_t)agent};
    trk_capture_append(&event);
}

void trk_capture_witness_store(enum trk_agent agent, uint64_t guest_addr, uint32_t size_bytes,
                               uint32_t stamp)
{
    if (!trk_capture_gate_is_open())
        return;
    witness_event(TRK_EVENT_WITNESS_STORE, agent, guest_addr, size_bytes, stamp);
}

void trk_capture_witness_check(enum trk_agent agent, uint64_t guest_addr, uint32_t size_bytes,
                               uint32_t stamp)
{
    if (!trk_capture_gate_is_open())
        return;
    witness_event(TRK_EVENT_WITNESS_CHECK, agent, guest_addr, size_bytes, stamp);
}

void trk_capture_signal(uint32_t timeline, uint64_t value)
{
    if (!trk_capture_gate_is_open())
        return;
    struct trk_event event = {.argument = value, .domain = timeline, .type = TRK_EVENT_SIGNAL};
    trk_capture_append(&event);
}

void trk_capture_await(uint32_t timeline, uint64_t value)
{
    if (!trk_capture_gate_is_open())
        return;
    struct trk_event event = {.argument = value, .domain = timeline, .type = TRK_EVENT_AWAIT};
    trk_capture_append(&event);
}

void trk_capture_mark(uint64_t number)
{
    if (!trk_capture_gate_is_open())
        return;
    struct trk_event event = {.argument = number, .type = TRK_EVENT_MARK};
    trk_capture_append(&event);
}
