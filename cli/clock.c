#include "clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include <cjson/cJSON.h>

#include "number.h"

/* No time stamp counter ticks slower or faster than this; another value is taken as not known. */
#define HERTZ_LEAST 1e6
#define HERTZ_MOST  1e12

struct trk_clock trk_clock_from_header(const char *header_json)
{
    struct trk_clock clock = {0};
    cJSON *header = cJSON_Parse(header_json);
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(header, "tsc_hz");
    double hertz = cJSON_IsNumber(value) ? value->valuedouble : 0;
    uint64_t number;
    if (cJSON_IsString(value) && trk_number_parse(value->valuestring, &number)) {
        hertz = (double)number;
    }
    cJSON_Delete(header);
    if (hertz >= HERTZ_LEAST && hertz <= HERTZ_MOST) {
        clock.ticks_a_microsecond = hertz / 1e6;
    }
    return clock;
}

void trk_clock_print(const struct trk_clock *clock, uint64_t ticks, uint64_t from, char *out,
                     size_t size)
{
    const char *sign = ticks < from ? "-" : "";
    uint64_t distance = ticks < from ? from - ticks : ticks - from;
    if (clock->ticks_a_microsecond > 0) {
        snprintf(out, size, "%s%.3f", sign, (double)distance / clock->ticks_a_microsecond);
    } else {
        snprintf(out, size, "%s%" PRIu64, sign, distance);
    }
}

uint64_t trk_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

uint64_t trk_clock_ns_in(uint64_t seconds)
{
    return trk_clock_ns() + seconds * UINT64_C(1000000000);
}
