/*
 * A long trace with one old mistake in it, made by the real core without a recorder: the same
 * options give the same bytes.
 *
 *     trk_long_trace --events N [--cause PERCENT] -o F
 *
 * A guest stores to 64 pages, the render thread uploads them and has the GPU read them, the GPU
 * writes 16 more that the guest reads. One further page holds a texture. It is loaded at the start;
 * when PERCENT of the events are there (default 10) a service stores to it past the tracker, and
 * tells nobody. In each round the render thread uploads it, which finds nothing to do, and the GPU
 * reads a part of it that is right; with the last event the GPU reads the part that is not.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recorder/writer.h"
#include "track/pages.h"
#include "track/thread.h"
#include "track/tracker.h"

#define PAGE         UINT64_C(4096)
#define REGION       UINT64_C(0x400000)
#define FIRST        UINT64_C(0x200010000)
#define VERTEX_PAGES 64u
#define RESULT_PAGES 16u
#define RESULT       (FIRST + VERTEX_PAGES * PAGE)
#define TEXTURE      (RESULT + RESULT_PAGES * PAGE)
#define SLOT_BYTES   256u
#define BATCH        4096u
#define STREAMS      2u

enum thread {
    RENDER,
    GUEST,
};

struct maker {
    struct trk_writer *writer;
    struct trk_backend *backend;
    struct trk_tracker *tracker;
    struct trk_thread threads[STREAMS];
    struct trk_record batch[STREAMS][BATCH];
    size_t count[STREAMS];
    enum thread now;
    uint64_t tsc, events, dice;
    uint32_t stamp;
    uint32_t guest[VERTEX_PAGES + RESULT_PAGES + 1], gpu[VERTEX_PAGES + RESULT_PAGES + 1];
};

static struct maker maker;

static void must(enum trk_status status)
{
    if (status != TRK_OK) {
        fprintf(stderr, "trk_long_trace: %s\n", trk_status_name(status));
        exit(1);
    }
}

/* ---- events ---------------------------------------------------------------------------------- */

static void flush(enum thread thread)
{
    must(trk_writer_append(maker.writer, (uint32_t)thread, maker.batch[thread], maker.count[thread],
                           0, NULL));
    maker.count[thread] = 0;
}

static void put(const struct trk_event *event)
{
    maker.tsc += 100;
    maker.batch[maker.now][maker.count[maker.now]++] = (struct trk_record){maker.tsc, *event};
    maker.events++;
    if (maker.count[maker.now] == BATCH)
        flush(maker.now);
}

static void emit(void *context, const struct trk_event *event)
{
    (void)context;
    put(event);
}

static void as(enum thread thread)
{
    maker.now = thread;
    trk_thread_swap(&maker.threads[thread]);
}

static void order(uint8_t type, uint32_t timeline, uint64_t value)
{
    put(&(struct trk_event){.type = type, .argument = value, .domain = timeline});
}

static void witness(uint8_t type, enum trk_agent agent, uint64_t guest_addr, uint32_t stamp)
{
    put(&(struct trk_event){.type = type,
                            .argument = guest_addr,
                            .seq = SLOT_BYTES,
                            .domain = stamp,
                            .flags = (uint8_t)agent});
}

static uint32_t place(uint64_t guest_addr)
{
    return (uint32_t)((guest_addr - FIRST) / PAGE);
}

static void copy(enum trk_copy direction, uint64_t guest_addr, uint64_t size_bytes)
{
    struct trk_event event = {
        .type = TRK_EVENT_COPY_BEGIN, .argument = guest_addr, .context = (uint16_t)direction};
    trk_event_set_size(&event, size_bytes);
    put(&event);
    uint32_t first = place(guest_addr), end = first + (uint32_t)(size_bytes / PAGE);
    for (uint32_t i = first; i < end; i++)
        *(direction == TRK_COPY_UP ? &maker.gpu[i] : &maker.guest[i]) =
            direction == TRK_COPY_UP ? maker.guest[i] : maker.gpu[i];
    event.type = TRK_EVENT_COPY_END;
    put(&event);
}

static void on_up(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    (void)context;
    copy(TRK_COPY_UP, guest_addr, size_bytes);
}

static void on_down(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    (void)context;
    copy(TRK_COPY_DOWN, guest_addr, size_bytes);
}

static void gpu_write(void *context)
{
    const uint64_t *guest_addr = context;
    struct trk_event event = {.type = TRK_EVENT_GPU_WRITE,
                              .argument = *guest_addr,
                              .seq = SLOT_BYTES,
                              .domain = ++maker.stamp};
    maker.gpu[place(*guest_addr)] = maker.stamp;
    put(&event);
}

/* ---- what threads do ------------------------------------------------------------------------- */

static uint64_t roll(uint64_t sides)
{
    maker.dice = maker.dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (maker.dice >> 33) % sides;
}

static void upload(uint64_t guest_addr, uint64_t pages, bool written)
{
    struct trk_transfer transfer = {.size = sizeof transfer,
                                    .guest_addr = guest_addr,
                                    .size_bytes = pages * PAGE,
                                    .written = written,
                                    .range = on_up,
                                    .completion = written ? gpu_write : NULL,
                                    .context = &guest_addr};
    must(trk_tracker_upload(maker.tracker, &transfer));
}

static struct trk_transfer way_home(uint64_t guest_addr, uint64_t size_bytes)
{
    return (struct trk_transfer){.size = sizeof(struct trk_transfer),
                                 .guest_addr = guest_addr & ~(PAGE - 1),
                                 .size_bytes = (size_bytes + PAGE - 1) & ~(PAGE - 1),
                                 .clear = true,
                                 .range = on_down};
}

static void on_flush(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    (void)context;
    struct trk_transfer transfer = way_home(guest_addr, size_bytes);
    must(trk_tracker_drain(maker.tracker, &transfer));
}

static void on_read_back(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    (void)context;
    struct trk_transfer transfer = way_home(guest_addr, size_bytes);
    must(trk_tracker_download(maker.tracker, &transfer));
}

static void fault_unless(uint64_t guest_addr, unsigned right, enum trk_access access)
{
    struct trk_page_view view = trk_pages_view(maker.tracker, guest_addr);
    if ((view.host_rights & right) == 0)
        (void)trk_tracker_fault(maker.tracker, guest_addr, access);
}

static void guest_round(uint64_t round)
{
    as(GUEST);
    for (unsigned i = 0; i < 8; i++) {
        uint64_t guest_addr = FIRST + roll(VERTEX_PAGES) * PAGE;
        fault_unless(guest_addr, TRK_RIGHT_WRITE, TRK_ACCESS_WRITE);
        maker.guest[place(guest_addr)] = ++maker.stamp;
        witness(TRK_EVENT_WITNESS_STORE, TRK_AGENT_CPU, guest_addr, maker.stamp);
    }
    uint64_t guest_addr = RESULT + roll(RESULT_PAGES) * PAGE;
    fault_unless(guest_addr, TRK_RIGHT_READ, TRK_ACCESS_READ);
    if (maker.guest[place(guest_addr)] != 0)
        witness(TRK_EVENT_WITNESS_CHECK, TRK_AGENT_CPU, guest_addr, maker.guest[place(guest_addr)]);
    order(TRK_EVENT_SIGNAL, 1, round + 1);
}

static void gpu_read(uint64_t guest_addr, uint32_t stamp)
{
    put(&(struct trk_event){.type = TRK_EVENT_GPU_READ, .argument = guest_addr, .seq = SLOT_BYTES});
    witness(TRK_EVENT_WITNESS_CHECK, TRK_AGENT_GPU, guest_addr, stamp);
}

static void render_round(uint64_t round)
{
    as(RENDER);
    put(&(struct trk_event){.type = TRK_EVENT_FRAME, .argument = round});
    order(TRK_EVENT_AWAIT, 1, round + 1);
    for (unsigned i = 0; i < 4; i++)
        upload(FIRST + i * (VERTEX_PAGES / 4) * PAGE, VERTEX_PAGES / 4, false);
    for (unsigned i = 0; i < 4; i++) {
        uint64_t guest_addr = FIRST + roll(VERTEX_PAGES) * PAGE;
        if (maker.gpu[place(guest_addr)] != 0)
            gpu_read(guest_addr, maker.gpu[place(guest_addr)]);
    }
    upload(RESULT + roll(RESULT_PAGES) * PAGE, 1, true);
    upload(TEXTURE, 1, false);
    gpu_read(TEXTURE, maker.gpu[place(TEXTURE)]);
    order(TRK_EVENT_SIGNAL, 2, round + 1);
    as(GUEST);
    order(TRK_EVENT_AWAIT, 2, round + 1);
}

/* The service's stores to the texture: told of, or not. */
static uint32_t service_store(uint64_t guest_addr, bool told)
{
    as(RENDER);
    if (told)
        must(trk_tracker_invalidate(maker.tracker, guest_addr, SLOT_BYTES, on_flush, NULL));
    witness(TRK_EVENT_WITNESS_STORE, TRK_AGENT_HLE, guest_addr, ++maker.stamp);
    return maker.stamp;
}

static void play(uint64_t events, uint64_t cause)
{
    maker.guest[place(TEXTURE)] = service_store(TEXTURE, true);
    uint32_t seen = service_store(TEXTURE + SLOT_BYTES, true);
    bool caused = false;
    for (uint64_t round = 0; maker.events + 2 < events; round++) {
        guest_round(round);
        if (!caused && maker.events >= cause) {
            upload(TEXTURE, 1, false);
            (void)service_store(TEXTURE + SLOT_BYTES, false);
            caused = true;
        }
        render_round(round);
    }
    as(RENDER);
    gpu_read(TEXTURE + SLOT_BYTES, seen);
    on_flush(NULL, FIRST & ~(REGION - 1), REGION);
    must(trk_tracker_untrack(maker.tracker, FIRST & ~(REGION - 1), REGION));
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void failure(void *context, const struct trk_failure *failed)
{
    (void)context;
    fprintf(stderr, "trk_long_trace: %s\n", failed->text);
}

static void open_tracker(void)
{
    struct trk_tracker_options options = trk_tracker_options_default();
    must(trk_policy_preset("default", &options.policy));
    must(trk_backend_simulated_create(&maker.backend, NULL));
    options.backend = maker.backend;
    options.observer = (struct trk_observer){.emit = emit};
    options.failure = failure;
    put(&(struct trk_event){.type = TRK_EVENT_TRACKER,
                            .argument = trk_policy_pack(&options.policy),
                            .context = TRK_BACKEND_MPROTECT});
    must(trk_tracker_create(&maker.tracker, &options, NULL));
    const struct trk_resource_layer layer = {on_flush, on_read_back, NULL};
    must(trk_tracker_set_resource_layer(maker.tracker, &layer));
    must(trk_tracker_register(maker.tracker, FIRST & ~(REGION - 1), REGION));
}

static void open_writer(int fd)
{
    struct trk_writer_options options = trk_writer_options_default();
    memset(options.sync_marker, 7, sizeof options.sync_marker);
    must(trk_writer_create(&maker.writer, fd, &options, "{}", NULL));
    static const char *const names[STREAMS] = {"render", "guest"};
    for (uint32_t i = 0; i < STREAMS; i++) {
        struct trk_trace_stream stream = {
            .stream_id = i, .thread_id = 100 + i, .role = i == GUEST ? 1 : 0};
        snprintf(stream.name, sizeof stream.name, "%s", names[i]);
        must(trk_writer_stream(maker.writer, &stream, NULL));
        maker.threads[i].id = 100 + i;
    }
}

static uint64_t number(const char *text)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0') {
        fprintf(stderr, "trk_long_trace: no number: %s\n", text);
        exit(2);
    }
    return value;
}

int main(int count, char **words)
{
    uint64_t events = 0, percent = 10;
    const char *path = NULL;
    for (int i = 1; i + 1 < count; i += 2) {
        if (strcmp(words[i], "--events") == 0)
            events = number(words[i + 1]);
        else if (strcmp(words[i], "--cause") == 0)
            percent = number(words[i + 1]);
        else if (strcmp(words[i], "-o") == 0)
            path = words[i + 1];
    }
    if (events < 1000 || percent > 100 || path == NULL) {
        fprintf(stderr, "usage: trk_long_trace --events N [--cause PERCENT] -o F\n");
        return 2;
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) {
        perror(path);
        return 4;
    }
    open_writer(fd);
    as(RENDER);
    open_tracker();
    play(events, events / 100 * percent);
    trk_thread_swap(NULL);
    flush(RENDER);
    flush(GUEST);
    must(trk_writer_end(maker.writer, 0, NULL));
    trk_tracker_destroy(maker.tracker);
    trk_backend_destroy(maker.backend);
    return close(fd) == 0 ? 0 : 4;
}
