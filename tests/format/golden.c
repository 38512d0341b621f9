/*
 * Goal: files of every version that was are read as they were meant, by both decoders [F-5].
 * Method: the small trace as each version's writer stored it; the events are those of today's.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "small_trace.h"

#define FILE_MAX 65536u

static const char *const versions[] = {"0.1", "0.2"};

static size_t load(const char *version, uint8_t *to)
{
    char path[512];
    const char *folder = getenv("TRK_GOLDEN");
    snprintf(path, sizeof path, "%s/%s.trk", folder != NULL ? folder : ".", version);
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file, "%s", path);
    size_t size_bytes = fread(to, 1, FILE_MAX, file);
    fclose(file);
    return size_bytes;
}

Test(golden, every_version)
{
    struct trace_file file;
    small_trace_make(&file);
    struct trace_events today = trace_read_bytes(file.bytes, file.size_bytes);
    for (size_t v = 0; v < sizeof versions / sizeof versions[0]; v++) {
        static uint8_t bytes[FILE_MAX];
        size_t size_bytes = load(versions[v], bytes);
        struct trace_events then = trace_read_bytes(bytes, size_bytes);
        cr_expect_eq(then.status, TRK_OK, "%s: %s", versions[v], then.error.text);
        cr_expect(then.state.complete, "%s: %s", versions[v], then.state.damage);
        cr_assert_eq(then.count, today.count, "%s", versions[v]);
        for (size_t i = 0; i < then.count; i++) {
            cr_expect(then.events[i].tsc == today.events[i].tsc &&
                          then.events[i].stream == today.events[i].stream &&
                          trace_event_equal(&then.events[i].event, &today.events[i].event),
                      "%s: event %zu", versions[v], i);
        }
        trace_events_free(&then);
    }
    trace_events_free(&today);
    trace_file_free(&file);
}
