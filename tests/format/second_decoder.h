/*
 * A second decoder of the trace format, written from docs/format.md alone and sharing no code with
 * the recorder: what the two read differently, the specification says unclearly.
 *
 * For whole, undamaged files only: anything else ends the program with a message. Slow.
 */
#ifndef TESTS_SECOND_DECODER_H
#define TESTS_SECOND_DECODER_H

#include <stddef.h>
#include <stdint.h>

struct second_event {
    uint32_t stream; /* id in the file */
    uint64_t time_stamp;
    uint64_t argument;
    uint32_t seq, domain;
    uint16_t page, pages, context;
    uint8_t type, flags;
};

/* All events in canonical order; the caller's to free. */
struct second_event *second_decode(const uint8_t *bytes, size_t size_bytes, size_t *count);

#endif
