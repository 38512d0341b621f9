/*
 * Goal: no damage is accepted silently. With any one bit of a small trace flipped, and with the
 * trace cut to any length, it is refused with a file offset, or read as not complete with the
 * offset and a text; every event that is given is one of its stream's, in their order, and the
 * bytes that are given for a page's hash are the page's. Method: all bits and all lengths, in
 * process, one after the other; a failing one is printed. Rules: [F-33].
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/page_hash.h"
#include "small_trace.h"

/* Whether the events given of each stream are among the original's, in order. */
static bool are_real(const struct trace_events *given, const struct trace_events *original)
{
    for (uint32_t stream = 0; stream < 2; stream++) {
        size_t next = 0;
        for (size_t i = 0; i < given->count; i++) {
            const struct trk_trace_event *event = &given->events[i];
            if (event->stream > 1) {
                return false;
            }
            if (event->stream != stream) {
                continue;
            }
            while (next < original->count &&
                   (original->events[next].stream != stream ||
                    original->events[next].tsc != event->tsc ||
                    !trace_event_equal(&original->events[next].event, &event->event))) {
                next++;
            }
            if (next == original->count) {
                return false;
            }
            next++;
        }
    }
    return true;
}

/* Whether no other bytes are given for the hash of a page. */
static bool pages_are_real(const uint8_t *bytes, size_t size_bytes)
{
    struct trk_trace *trace;
    bool real = true;
    if (trk_trace_open_bytes(&trace, bytes, size_bytes, NULL) != TRK_OK) {
        return true;
    }
    for (unsigned i = 0; i < SMALL_TRACE_PAGES; i++) {
        uint8_t page[TRK_BLOB_BYTES];
        const void *given;
        small_trace_page(i, page);
        enum trk_status status =
            trk_trace_blob(trace, trk_page_hash(page, sizeof page), &given, NULL);
        real = real && (status != TRK_OK || memcmp(given, page, sizeof page) == 0);
    }
    trk_trace_close(trace);
    return real;
}

/* Gives NULL when the damage was found and nothing wrong was given, else what is wrong. */
static const char *judge(const uint8_t *bytes, size_t size_bytes,
                         const struct trace_events *original)
{
    struct trace_events given = trace_read_bytes(bytes, size_bytes);
    const char *wrong = NULL;
    if (given.status != TRK_OK) {
        if (given.error.file_offset == TRK_NOT_KNOWN || given.error.file_offset > size_bytes) {
            wrong = "refused without an offset in the file";
        } else if (given.count > 0) {
            wrong = "refused in the middle";
        }
    } else if (given.state.complete) {
        wrong = "accepted as complete";
    } else if (given.state.first_damage_offset > size_bytes) {
        wrong = "no offset in the file";
    } else if (given.state.damage[0] == '\0') {
        wrong = "no text";
    }
    if (wrong == NULL && !are_real(&given, original)) {
        wrong = "gives an event that is none of the stream's";
    }
    if (wrong == NULL && !pages_are_real(bytes, size_bytes)) {
        wrong = "gives other bytes for a page's hash";
    }
    trace_events_free(&given);
    return wrong;
}

struct fixture {
    struct trace_file file;
    struct trace_events original;
};

static struct fixture start(void)
{
    struct fixture fixture;
    small_trace_make(&fixture.file);
    fixture.original = trace_read_bytes(fixture.file.bytes, fixture.file.size_bytes);
    cr_assert_eq(fixture.original.status, TRK_OK);
    cr_assert(fixture.original.state.complete, "the small trace itself is good");
    cr_assert_eq(fixture.original.count, 18 + SMALL_TRACE_DETAILS);
    cr_assert_eq(fixture.original.state.order_gaps, 0);
    return fixture;
}

static void end(struct fixture *fixture)
{
    trace_events_free(&fixture->original);
    trace_file_free(&fixture->file);
}

Test(damage, every_single_bit)
{
    struct fixture fixture = start();
    size_t failures = 0;
    for (size_t bit = 0; bit < 8 * fixture.file.size_bytes; bit++) {
        fixture.file.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        const char *wrong = judge(fixture.file.bytes, fixture.file.size_bytes, &fixture.original);
        fixture.file.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        cr_expect_null(wrong, "bit %zu of byte %zu flipped: %s", bit % 8, bit / 8, wrong);
        failures += wrong != NULL;
        cr_assert_lt(failures, 10, "enough");
    }
    end(&fixture);
}

Test(damage, every_length)
{
    struct fixture fixture = start();
    for (size_t length = 0; length < fixture.file.size_bytes; length++) {
        /* In memory of exactly that length, so that a read behind it is found. */
        uint8_t *cut = malloc(length + (length == 0));
        memcpy(cut, fixture.file.bytes, length);
        const char *wrong = judge(cut, length, &fixture.original);
        cr_expect_null(wrong, "cut to %zu bytes: %s", length, wrong);
        free(cut);
    }
    end(&fixture);
}

/* Zeroed blocks, as a disk leaves them: at every multiple of 16 bytes, of several lengths. */
Test(damage, zeroed_blocks)
{
    static const size_t lengths[] = {16, 64, 200, 512};
    struct fixture fixture = start();
    uint8_t *copy = malloc(fixture.file.size_bytes);
    for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++) {
        for (size_t at = 0; at + lengths[l] <= fixture.file.size_bytes; at += 16) {
            memcpy(copy, fixture.file.bytes, fixture.file.size_bytes);
            memset(copy + at, 0, lengths[l]);
            if (memcmp(copy, fixture.file.bytes, fixture.file.size_bytes) == 0) {
                continue; /* there were only zeros */
            }
            const char *wrong = judge(copy, fixture.file.size_bytes, &fixture.original);
            cr_expect_null(wrong, "%zu bytes zeroed at %zu: %s", lengths[l], at, wrong);
        }
    }
    free(copy);
    end(&fixture);
}
