#include "second_decoder.h"
#include "second_order.h"
#include "second_pages.h"
#include "second_places.h"
#include "second_state.h"
#include "second_types.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define STREAMS_MAX 16

void second_must(bool good, const char *rule)
{
    if (!good) {
        fprintf(stderr, "second decoder: broken %s\n", rule);
        abort();
    }
}

/* ---- F-1, F-7 -------------------------------------------------------------------------------- */

uint64_t second_little(const uint8_t *at, unsigned bytes)
{
    return bytes == 0 ? 0 : at[0] | second_little(at + 1, bytes - 1) << 8;
}

uint32_t second_crc32c(const uint8_t *bytes, size_t size)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < size; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = crc & 1 ? crc >> 1 ^ 0x82F63B78u : crc >> 1;
        }
    }
    return ~crc;
}

struct column {
    uint8_t encoding;
    const uint8_t *at, *end;
};

static uint64_t leb128(struct column *column)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        second_must(column->at < column->end && shift < 70, "F-1");
        value |= (uint64_t)(*column->at & 127) << shift;
        if (*column->at++ < 128) {
            return value;
        }
    }
}

static uint64_t unzigzag(uint64_t value)
{
    return value % 2 == 0 ? value / 2 : -(value / 2) - 1;
}

/* What is expected [F-22]. */
struct expected {
    uint64_t time, latest, line[8], number[256], size;
    uint32_t stamp, timeline, domain[2], page[2];
    uint64_t kept[2];
    uint32_t known[8192], next_seq[8192];
    size_t known_count;
    uint32_t first[8192], ended[8192], ends[8192]; /* F-34 */
};

struct chunk {
    struct column column[16];
    struct expected expected;
};

/* The place of a domain; as many as are known if it is new. */
static size_t place_of(const struct expected *e, uint32_t domain)
{
    size_t i = 0;
    while (i < e->known_count && e->known[i] != domain) {
        i++;
    }
    return i;
}

bool second_ends_hold(const struct second_event *event)
{
    return event->type == 3 || event->type == 6 || (event->type == 5 && event->flags & 0x80) ||
           (event->type == 9 && event->domain >> 28 != 0);
}

static void read_hold(struct chunk *chunk, struct second_event *event, int group)
{
    struct expected *e = &chunk->expected;
    uint32_t moved = (uint32_t)((e->latest >> 22) - (e->kept[group] >> 22));
    event->domain = e->domain[group] + moved + (uint32_t)unzigzag(leb128(&chunk->column[3]));
    e->domain[group] = event->domain;
    e->kept[group] = e->latest;
    size_t at = place_of(e, event->domain);
    uint32_t expected = at == e->known_count ? 1 : e->next_seq[at];
    event->seq = expected + (uint32_t)unzigzag(leb128(&chunk->column[4]));
    e->next_seq[at] = event->seq;
    if (at == e->known_count) {
        e->known[e->known_count++] = event->domain;
        e->first[at] = event->seq;
    }
    if (second_ends_hold(event)) {
        e->next_seq[at]++;
        e->ended[at] = event->seq;
        e->ends[at]++;
    }
}

static void read_word(struct chunk *chunk, struct second_event *event, char word, int group,
                      int line)
{
    struct expected *e = &chunk->expected;
    struct column *column = chunk->column;
    uint64_t value;
    switch (word) {
    case 'f':
        event->flags = *column[7].at++;
        break;
    case 'c':
        event->context = (uint16_t)leb128(&column[8]);
        break;
    case 'a':
        event->argument = e->line[line] += unzigzag(leb128(&column[9]));
        e->latest = event->argument;
        e->page[0] = e->page[1] = (uint32_t)(e->latest >> 12) % 1024;
        break;
    case 'n':
        event->argument = e->number[event->type] += unzigzag(leb128(&column[12]));
        break;
    case 'h':
        read_hold(chunk, event, group);
        break;
    case 'H':
        value = leb128(&column[15]);
        event->seq = (uint32_t)value;
        event->domain = (uint32_t)(value >> 32);
        break;
    case 's':
    case 'S':
        e->size += unzigzag(leb128(&column[10]));
        event->seq = (uint32_t)e->size;
        event->domain = (uint32_t)(e->size >> 32);
        if (word == 'S') {
            event->domain = e->stamp += (uint32_t)unzigzag(leb128(&column[11]));
        }
        break;
    case 't':
        event->domain = e->timeline += (uint32_t)unzigzag(leb128(&column[3]));
        break;
    case 'p':
    case 'r':
        e->page[group] += (uint32_t)unzigzag(leb128(&column[5]));
        event->page = (uint16_t)e->page[group];
        event->pages = word == 'r' ? (uint16_t)leb128(&column[6]) : 0;
        break;
    case 'k':
        event->pages = (uint16_t)leb128(&column[6]);
        break;
    case 'i':
    case 'v':
        event->page = (uint16_t)leb128(&column[13]);
        event->pages = word == 'v' ? (uint16_t)leb128(&column[13]) : 0;
        break;
    default: /* N */
        value = leb128(&column[13]);
        event->page = (uint16_t)value;
        event->pages = (uint16_t)(value >> 16);
        break;
    }
}

static void read_other(struct column *others, struct second_event *event)
{
    event->type = (uint8_t)leb128(others);
    event->flags = (uint8_t)leb128(others);
    event->context = (uint16_t)leb128(others);
    event->page = (uint16_t)leb128(others);
    event->pages = (uint16_t)leb128(others);
    event->domain = (uint32_t)leb128(others);
    event->seq = (uint32_t)leb128(others);
    event->argument = leb128(others);
}

static void read_event(struct chunk *chunk, struct second_event *event)
{
    event->type = *chunk->column[1].at++;
    if (event->type == 0) { /* F-21 */
        read_other(&chunk->column[14], event);
        return;
    }
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        if (types[t].id == event->type) {
            for (const char *word = types[t].words; *word != '\0'; word++) {
                read_word(chunk, event, *word, types[t].group, types[t].line);
            }
            return;
        }
    }
    second_must(false, "F-20");
}

/* ---- F-6 to F-18: the file ------------------------------------------------------------------- */

struct stream {
    uint32_t id;
    struct second_event *events;
    size_t count, next;
};

struct file {
    struct stream streams[STREAMS_MAX];
    size_t stream_count;
    uint64_t last_index, indexed; /* offset of the newest INDEX; chunk behind the newest entry */
    size_t chunks, indexed_count; /* of streams; entries */
    bool places;                  /* the version has them [F-42] */
};

static struct stream *stream_of(struct file *file, uint32_t id)
{
    for (size_t i = 0; i < file->stream_count; i++) {
        if (file->streams[i].id == id) {
            return &file->streams[i];
        }
    }
    second_must(file->stream_count < STREAMS_MAX, "this decoder's limit of streams");
    file->streams[file->stream_count].id = id;
    return &file->streams[file->stream_count++];
}

/* F-34: the summary is that of the events of the chunk that was just read. */
static void check_summary(const struct expected *e, const uint8_t *frame, size_t size)
{
    if (size == 0) {
        second_must(e->known_count == 0, "F-34: a summary is missing");
        return;
    }
    second_must(second_little(frame, 4) == 0x184D2A57 && second_little(frame + 4, 4) == size - 8,
                "F-34");
    second_must(second_little(frame + size - 4, 4) == second_crc32c(frame, size - 4),
                "F-34: checksum");
    struct column list = {0, frame + 8, frame + size - 4};
    uint64_t count = leb128(&list);
    second_must(count == e->known_count, "F-34: number of domains");
    uint32_t domain = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint32_t step = (uint32_t)leb128(&list);
        second_must(i == 0 || step > 0, "F-34: ascending");
        domain += step;
        size_t at = place_of(e, domain);
        second_must(at < e->known_count, "F-34: domain");
        uint32_t first = (uint32_t)leb128(&list);
        second_must(first == e->first[at], "F-34: first");
        second_must(first + (uint32_t)unzigzag(leb128(&list)) == e->ended[at], "F-34: ended");
        second_must(leb128(&list) == e->ends[at], "F-34: ends");
    }
    second_must(list.at == list.end, "F-34: bytes left over");
}

/* F-42: an entry's set is that of the chunk's events; older files have none. */
static void check_places(struct file *file, const uint8_t *entry)
{
    uint32_t said = (uint32_t)second_little(entry + 21, 3);
    const struct stream *stream = stream_of(file, (uint32_t)second_little(entry + 8, 4));
    uint64_t first = second_little(entry + 24, 8), count = second_little(entry + 16, 4);
    uint32_t places = second_places(&stream->events[first], count);
    second_must(said == (file->places ? places : 0), "F-42");
}

/* F-35: the entries are the headers that stand there; all of them, in order. */
static void check_index(struct file *file, const uint8_t *bytes, const uint8_t *raw, size_t size)
{
    uint64_t count = second_little(raw + 8, 4);
    second_must(size == 16 + 56 * count && second_little(raw, 8) == file->last_index, "F-35");
    for (uint64_t i = 0; i < count; i++) {
        const uint8_t *entry = raw + 16 + 56 * i;
        const uint8_t *header = bytes + second_little(entry, 8);
        second_must(second_little(header, 4) == 0x184D2A55 &&
                        second_little(header + 28, 4) == second_little(entry + 8, 4) &&
                        second_little(header + 80, 4) == second_little(entry + 12, 4) &&
                        second_little(header + 36, 4) == second_little(entry + 16, 4) &&
                        header[24] == entry[20] && memcmp(header + 40, entry + 24, 32) == 0,
                    "F-35: entry");
        second_must(second_little(entry + 12, 4) >= file->indexed, "F-35: order");
        if (entry[20] == 2) {
            check_places(file, entry);
        }
        file->indexed = second_little(entry + 12, 4) + 1;
        file->indexed_count++;
    }
}

static void read_payload(struct stream *stream, const uint8_t *header, const uint8_t *raw,
                         size_t raw_size)
{
    static struct chunk chunk;
    memset(&chunk, 0, sizeof chunk);
    struct column all = {0, raw, raw + raw_size};
    while (all.at < all.end) {
        uint8_t id = *all.at++;
        second_must(id >= 1 && id <= 15, "F-19");
        chunk.column[id].encoding = *all.at++;
        uint64_t length = leb128(&all);
        second_must(length <= (uint64_t)(all.end - all.at), "F-18");
        chunk.column[id].at = all.at;
        chunk.column[id].end = all.at += length;
    }
    unsigned shift = header[27];
    size_t count = second_little(header + 36, 4);
    second_must(second_little(header + 40, 8) == stream->count, "F-13");
    chunk.expected.time = second_little(header + 48, 8) >> shift;
    stream->events = realloc(stream->events, (stream->count + count) * sizeof *stream->events);
    for (size_t i = 0; i < count; i++) {
        struct second_event event = {.stream = stream->id};
        chunk.expected.time += unzigzag(leb128(&chunk.column[2]));
        event.time_stamp = chunk.expected.time << shift;
        read_event(&chunk, &event);
        stream->events[stream->count++] = event;
    }
    check_summary(&chunk.expected, header + 96, second_little(header + 84, 4));
    for (size_t id = 1; id <= 15; id++) {
        second_must(chunk.column[id].at == chunk.column[id].end, "F-26");
    }
}

static struct file *being_read;

static uint64_t events_of(uint32_t id)
{
    return stream_of(being_read, id)->count;
}

static void read_file(struct file *file, const uint8_t *bytes, size_t size)
{
    second_must(size > 64 && memcmp(bytes + 8, "\x89TRK\r\n\x1a\n", 8) == 0, "F-4");
    second_must(second_little(bytes + 60, 4) == second_crc32c(bytes, 60), "F-7");
    size_t at = 64;
    uint64_t number = 0;
    uint64_t version = second_little(bytes + 16, 2) << 16 | second_little(bytes + 18, 2);
    file->places = version >= 0x10001;
    being_read = file;
    while (second_little(bytes + at, 4) == 0x184D2A55) {
        const uint8_t *header = bytes + at;
        size_t raw_size = second_little(header + 72, 4);
        size_t packed_size = second_little(header + 76, 4);
        second_must(memcmp(header + 8, bytes + 40, 16) == 0, "F-6");
        second_must(second_little(header + 92, 4) == second_crc32c(header, 92), "F-7");
        size_t summary_size = second_little(header + 84, 4);
        const uint8_t *packed = header + 96 + summary_size;
        second_must(second_little(header + 88, 4) == second_crc32c(packed, packed_size), "F-7");
        second_must(second_little(header + 80, 4) == number++, "F-12");
        uint8_t *raw = malloc(raw_size + 1);
        second_must(ZSTD_decompress(raw, raw_size, packed, packed_size) == raw_size, "F-11");
        if (header[24] == 2 || header[24] == 3) {
            struct stream *stream = stream_of(file, (uint32_t)second_little(header + 28, 4));
            file->chunks++;
            if (header[24] == 2) {
                read_payload(stream, header, raw, raw_size);
            }
        }
        second_must(header[24] != 4 || (second_little(raw + 4, 4) == number &&
                                        second_little(raw + raw_size - 8, 8) == file->last_index),
                    "F-16");
        second_must(header[24] != 5 || memcmp(raw, "{\"schema\":\"trk.types\"", 21) == 0, "F-36");
        if (header[24] == 7) { /* F-37 */
            second_must((header[26] & 1) != 0, "F-37: required");
            file->chunks++;
            struct column list = {0, raw, raw + raw_size};
            for (int timelines = 0; timelines < 2; timelines++) {
                for (uint64_t left = leb128(&list); left > 0; left--) {
                    uint32_t point = (uint32_t)leb128(&list);
                    second_begin(timelines != 0, point, leb128(&list));
                }
            }
        }
        if (header[24] == 8) {
            second_pages_take(header + 96, summary_size, raw, raw_size);
            file->chunks++;
        }
        if (header[24] == 9) {
            file->chunks++;
            second_must(second_state_take(raw, raw_size, events_of) ==
                            second_little(header + 40, 8),
                        "F-40: number of the event");
        }
        if (header[24] == 6) {
            check_index(file, bytes, raw, raw_size);
            file->last_index = at;
        }
        free(raw);
        at += 96 + summary_size + packed_size;
    }
    second_must(file->chunks == file->indexed_count, "F-35: a chunk is in no INDEX");
    second_must(at + 32 == size && second_little(bytes + at, 4) == 0x184D2A56, "F-17");
    second_must(second_little(bytes + at + 28, 4) == second_crc32c(bytes + at, 28), "F-7");
}

static struct stream *choose(struct file *file, bool ready)
{
    struct stream *best = NULL;
    for (size_t i = 0; i < file->stream_count; i++) {
        struct stream *stream = &file->streams[i];
        if (stream->next < stream->count &&
            (!ready || second_ready(&stream->events[stream->next])) &&
            (best == NULL ||
             stream->events[stream->next].time_stamp < best->events[best->next].time_stamp)) {
            best = stream;
        }
    }
    return best;
}

struct second_event *second_decode(const uint8_t *bytes, size_t size_bytes, size_t *count)
{
    static struct file file;
    memset(&file, 0, sizeof file);
    second_order_reset();
    second_pages_reset();
    second_state_reset();
    read_file(&file, bytes, size_bytes);
    struct second_event *all = NULL;
    *count = 0;
    for (;;) {
        struct stream *stream = choose(&file, true);
        stream = stream != NULL ? stream : choose(&file, false);
        if (stream == NULL) {
            break;
        }
        struct second_event *larger = realloc(all, (*count + 1) * sizeof *all);
        second_must(larger != NULL, "this machine's limit of memory");
        all = larger;
        all[(*count)++] = stream->events[stream->next];
        second_give(&stream->events[stream->next++], (size_t)(stream - file.streams));
        if (stream->next == stream->count) {
            second_exhausted((size_t)(stream - file.streams));
        }
    }
    for (size_t i = 0; i < file.stream_count; i++) {
        free(file.streams[i].events);
    }
    return all;
}
