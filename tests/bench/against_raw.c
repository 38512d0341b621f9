#include "against_raw.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "recorder/chunks.h"

#define ZSTD_LEVEL 3

/* What is used again from round to round. */
struct raw {
    ZSTD_CCtx *packer;
    ZSTD_DCtx *unpacker;
    struct trk_record records[TRK_CHUNK_EVENTS];
    char bytes[ZSTD_COMPRESSBOUND(TRK_CHUNK_EVENTS * sizeof(struct trk_record))];
};

/* Of one reader: how often, and what it has seen, so that nothing is left out. */
struct seen {
    uint64_t events, faults;
};

enum way { ENCODE, RAW_ENCODE, DECODE, ORDERED, RAW_DECODE, WAYS };

static struct bench_samples ns[WAYS]; /* an event */

static int complain(const char *what, const char *why)
{
    fprintf(stderr, "against raw: %s: %s\n", what, why);
    return 1;
}

static void look(struct seen *seen, const struct trk_record *records, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        seen->faults += records[i].event.type == TRK_EVENT_FAULT;
    }
    seen->events += count;
}

/* ---- raw records: the size of a frame, then the frame ------------------------------------------
 */

static int write_chunk(struct raw *raw, const struct trk_record *records, size_t count, int fd)
{
    size_t size = ZSTD_compressCCtx(raw->packer, raw->bytes, sizeof raw->bytes, records,
                                    count * sizeof *records, ZSTD_LEVEL);
    uint32_t length = (uint32_t)size;
    if (ZSTD_isError(size) || write(fd, &length, sizeof length) != (ssize_t)sizeof length ||
        write(fd, raw->bytes, size) != (ssize_t)size) {
        return complain("raw records", "cannot be written");
    }
    return 0;
}

static int encode_raw(struct raw *raw, const struct bench_loaded *loaded, int fd)
{
    for (size_t i = 0; i < loaded->streams; i++) {
        const struct bench_stream *stream = &loaded->list[i];
        for (size_t at = 0; at < stream->count; at += TRK_CHUNK_EVENTS) {
            size_t left = stream->count - at;
            if (write_chunk(raw, stream->records + at,
                            left < TRK_CHUNK_EVENTS ? left : TRK_CHUNK_EVENTS, fd)) {
                return 1;
            }
        }
    }
    return 0;
}

static int decode_raw(struct raw *raw, int fd, struct seen *seen)
{
    uint32_t length;
    if (lseek(fd, 0, SEEK_SET) != 0) {
        return complain("raw records", "cannot be read");
    }
    while (read(fd, &length, sizeof length) == (ssize_t)sizeof length) {
        if (length > sizeof raw->bytes || read(fd, raw->bytes, length) != (ssize_t)length) {
            return complain("raw records", "cannot be read");
        }
        size_t size = ZSTD_decompressDCtx(raw->unpacker, raw->records, sizeof raw->records,
                                          raw->bytes, length);
        if (ZSTD_isError(size)) {
            return complain("raw records", ZSTD_getErrorName(size));
        }
        look(seen, raw->records, size / sizeof *raw->records);
    }
    return 0;
}

/* ---- the trace --------------------------------------------------------------------------------
 */

static int decode_chunks(struct raw *room, struct trk_trace *trace, struct seen *seen)
{
    struct trk_error error;
    for (size_t i = 0; i < trk_trace_chunk_count(trace); i++) {
        if (trk_trace_chunk_read(trace, i, room->records, &error) != TRK_OK) {
            return complain("a chunk", error.text);
        }
        look(seen, room->records, trk_trace_chunk(trace, i).events);
    }
    return 0;
}

/* Where an open file is found by its name, too. */
static void name_of(int fd, char name[32])
{
    snprintf(name, 32, "/proc/self/fd/%d", fd);
}

static int time_chunks(struct raw *room, int fd, struct seen *seen)
{
    struct trk_trace *trace = NULL;
    struct trk_error error;
    char name[32];
    name_of(fd, name);
    if (trk_trace_open(&trace, name, &error) != TRK_OK ||
        trk_trace_scan_quick(trace, &error) != TRK_OK) {
        trk_trace_close(trace);
        return complain("the trace", error.text);
    }
    uint64_t start = bench_processor_ns();
    int failed = decode_chunks(room, trace, seen);
    bench_samples_add(&ns[DECODE], (double)(bench_processor_ns() - start) / (double)seen->events);
    trk_trace_close(trace);
    return failed;
}

static int time_ordered(int fd, struct seen *seen)
{
    struct trk_trace *trace = NULL;
    struct trk_error error;
    struct trk_trace_event event;
    char name[32];
    name_of(fd, name);
    uint64_t start = bench_processor_ns();
    if (trk_trace_open(&trace, name, &error) != TRK_OK) {
        return complain("the trace", error.text);
    }
    while (trk_trace_next(trace, &event, &error) == TRK_OK) {
        seen->events++;
        seen->faults += event.event.type == TRK_EVENT_FAULT;
    }
    bench_samples_add(&ns[ORDERED], (double)(bench_processor_ns() - start) / (double)seen->events);
    trk_trace_close(trace);
    return 0;
}

/* ---- rounds -----------------------------------------------------------------------------------
 */

static double bytes_of(int fd, const struct bench_loaded *loaded)
{
    struct stat file;
    return fstat(fd, &file) != 0 ? 0 : (double)file.st_size / (double)loaded->events;
}

static int write_both(struct raw *raw, const struct bench_loaded *loaded, const int files[2],
                      struct bench_against_raw *out)
{
    uint64_t start = bench_processor_ns();
    int failed = bench_encode(loaded, out->clock_shift, files[0]);
    uint64_t middle = bench_processor_ns();
    failed = failed || encode_raw(raw, loaded, files[1]);
    bench_samples_add(&ns[ENCODE], (double)(middle - start) / (double)loaded->events);
    bench_samples_add(&ns[RAW_ENCODE],
                      (double)(bench_processor_ns() - middle) / (double)loaded->events);
    out->bytes = bytes_of(files[0], loaded);
    out->raw_bytes = bytes_of(files[1], loaded);
    return failed;
}

static int read_both(struct raw *raw, const int files[2])
{
    struct seen chunks = {0};
    struct seen ordered = {0};
    struct seen plain = {0};
    int failed = time_chunks(raw, files[0], &chunks);
    uint64_t start = bench_processor_ns();
    failed = failed || decode_raw(raw, files[1], &plain);
    bench_samples_add(&ns[RAW_DECODE],
                      (double)(bench_processor_ns() - start) / (double)plain.events);
    failed = failed || time_ordered(files[0], &ordered);
    if (!failed && (chunks.events != plain.events || chunks.faults != plain.faults ||
                    ordered.events != plain.events || ordered.faults != plain.faults)) {
        return complain("reading", "not the events that were written");
    }
    return failed;
}

static int one_round(struct raw *raw, const struct bench_loaded *loaded,
                     struct bench_against_raw *out)
{
    int files[2] = {bench_memory_file(), bench_memory_file()};
    int failed = files[0] < 0 || files[1] < 0 || write_both(raw, loaded, files, out) ||
                 read_both(raw, files);
    for (size_t i = 0; i < 2; i++) {
        if (files[i] >= 0) {
            close(files[i]);
        }
    }
    return failed;
}

static void cut(struct bench_loaded *loaded, unsigned clock_shift)
{
    for (size_t i = 0; i < loaded->streams; i++) {
        struct bench_stream *stream = &loaded->list[i];
        for (size_t k = 0; k < stream->count; k++) {
            stream->records[k].tsc = stream->records[k].tsc >> clock_shift << clock_shift;
        }
    }
}

static struct bench_spread rate(const struct bench_samples *samples)
{
    static struct bench_samples rates;
    rates.count = 0;
    for (size_t i = 0; i < samples->count; i++) {
        bench_samples_add(&rates, 1e9 / samples->values[i]);
    }
    return bench_samples_spread(&rates);
}

int bench_against_raw(struct bench_loaded *loaded, unsigned clock_shift, unsigned rounds,
                      struct bench_against_raw *out)
{
    struct raw *raw = calloc(1, sizeof *raw);
    if (raw == NULL || loaded->events == 0) {
        free(raw);
        return complain("nothing", "no events, or out of memory");
    }
    raw->packer = ZSTD_createCCtx();
    raw->unpacker = ZSTD_createDCtx();
    int failed = raw->packer == NULL || raw->unpacker == NULL;
    *out = (struct bench_against_raw){.clock_shift = clock_shift};
    for (size_t i = 0; i < WAYS; i++) {
        ns[i].count = 0;
    }
    cut(loaded, clock_shift);
    for (unsigned round = 0; round < rounds && !failed; round++) {
        failed = one_round(raw, loaded, out);
    }
    ZSTD_freeCCtx(raw->packer);
    ZSTD_freeDCtx(raw->unpacker);
    free(raw);
    out->encode_ns = bench_samples_spread(&ns[ENCODE]);
    out->raw_encode_ns = bench_samples_spread(&ns[RAW_ENCODE]);
    out->writer_ratio = bench_samples_ratio(&ns[RAW_ENCODE], &ns[ENCODE]);
    out->decode_per_second = rate(&ns[DECODE]);
    out->ordered_per_second = rate(&ns[ORDERED]);
    out->raw_decode_per_second = rate(&ns[RAW_DECODE]);
    out->reader_ratio = bench_samples_ratio(&ns[RAW_DECODE], &ns[DECODE]);
    out->ordered_ratio = bench_samples_ratio(&ns[RAW_DECODE], &ns[ORDERED]);
    return failed;
}
