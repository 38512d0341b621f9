/*
 * Schedules as lines of text.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "scenario_schedule.h"

#define REPRO_BYTES 4096u /* a longer schedule is not written */
#define CHECK_BYTES 2u    /* at the end, of all before: a line that was cut is none */

static const char digits[] = "abcdefghijklmnopqrstuvwxyz234567";

uint8_t repro_check(uint8_t check, uint8_t label)
{
    return (uint8_t)((check ^ label) * 167u + 13u);
}

/* ---- writing --------------------------------------------------------------------------------- */

struct bytes {
    uint8_t bytes[REPRO_BYTES];
    size_t count;
};

static void add_byte(struct bytes *bytes, uint8_t byte)
{
    if (bytes->count < sizeof bytes->bytes)
        bytes->bytes[bytes->count] = byte;
    bytes->count++;
}

static void add_number(struct bytes *bytes, uint64_t number)
{
    for (; number >= 128; number >>= 7)
        add_byte(bytes, (uint8_t)(number | 128));
    add_byte(bytes, (uint8_t)number);
}

static uint16_t check_of(const uint8_t *bytes, size_t count)
{
    return (uint16_t)XXH3_64bits(bytes, count);
}

static void add_check(struct bytes *bytes)
{
    uint16_t check = bytes->count <= sizeof bytes->bytes ? check_of(bytes->bytes, bytes->count) : 0;
    add_byte(bytes, (uint8_t)check);
    add_byte(bytes, (uint8_t)(check >> 8));
}

static void add_base32(const struct bytes *bytes, char *out, size_t size)
{
    uint32_t held = 0, held_bits = 0;
    size_t used = 0;
    for (size_t i = 0; i < bytes->count && used + 1 < size; i++) {
        held = held << 8 | bytes->bytes[i];
        for (held_bits += 8; held_bits >= 5 && used + 1 < size; held_bits -= 5)
            out[used++] = digits[held >> (held_bits - 5) & 31];
        held &= (UINT32_C(1) << held_bits) - 1;
    }
    if (held_bits > 0 && used + 1 < size)
        out[used++] = digits[held << (5 - held_bits) & 31];
    out[used] = '\0';
}

void repro_write(const struct path *path, const struct trk_scenario *scenario, char *out,
                 size_t size)
{
    struct bytes bytes = {.count = 0};
    uint64_t usual = 0;
    uint8_t check = 0;
    for (size_t i = 0; i < path->count; i++) {
        const struct path_step *step = &path->steps[i];
        check = repro_check(check, step->label);
        usual++;
        if (step->usual)
            continue;
        add_number(&bytes, usual - 1);
        add_number(&bytes, step->thread);
        add_byte(&bytes, check);
        add_byte(&bytes, step->label);
        usual = 0;
        check = 0;
    }
    add_check(&bytes);
    int used = snprintf(out, size, "trk1:%.8s:%08" PRIx32 ":", core_build, scenario->hash);
    if (bytes.count > sizeof bytes.bytes || bytes.count * 8 / 5 + 2 + (size_t)used > size)
        out[0] = '\0';
    else
        add_base32(&bytes, out + used, size - (size_t)used);
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool base32_read(struct bytes *bytes, const char *text)
{
    uint32_t held = 0, held_bits = 0;
    for (; *text != '\0'; text++) {
        const char *digit = strchr(digits, *text);
        if (digit == NULL || bytes->count >= sizeof bytes->bytes)
            return false;
        held = (held << 5 | (uint32_t)(digit - digits)) & 4095;
        held_bits += 5;
        if (held_bits < 8)
            continue;
        held_bits -= 8;
        add_byte(bytes, (uint8_t)(held >> held_bits));
    }
    return held_bits < 5 && (held & ((UINT32_C(1) << held_bits) - 1)) == 0;
}

/* Take the check off; false: it is not that of what stands before it. */
static bool check_take(struct bytes *bytes)
{
    if (bytes->count < CHECK_BYTES)
        return false;
    bytes->count -= CHECK_BYTES;
    const uint8_t *check = &bytes->bytes[bytes->count];
    return (check[0] | check[1] << 8) == check_of(bytes->bytes, bytes->count);
}

static bool take_number(const struct bytes *bytes, size_t *at, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; shift < 63 && *at < bytes->count; shift += 7) {
        uint8_t byte = bytes->bytes[(*at)++];
        *out |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return true;
    }
    return false;
}

static bool turns_read(struct repro *repro, const struct bytes *bytes, uint32_t threads)
{
    size_t at = 0;
    repro->turns = calloc(bytes->count + 1, sizeof *repro->turns);
    if (repro->turns == NULL)
        return false;
    while (at < bytes->count) {
        struct repro_turn *turn = &repro->turns[repro->count++];
        uint64_t thread = 0;
        if (!take_number(bytes, &at, &turn->usual) || !take_number(bytes, &at, &thread) ||
            thread < 1 || thread >= threads || bytes->count - at < 2)
            return false;
        turn->thread = (uint32_t)thread;
        turn->check = bytes->bytes[at++];
        turn->place = bytes->bytes[at++];
    }
    return true;
}

static bool fail(struct trk_scenario_fault *fault, const char *text)
{
    *fault = (struct trk_scenario_fault){.where = "schedule"};
    snprintf(fault->text, sizeof fault->text, "%s", text);
    return false;
}

bool repro_read(struct repro *repro, const char *text, const struct trk_scenario *scenario,
                struct trk_scenario_fault *fault)
{
    *repro = (struct repro){0};
    char script[10];
    /* trk1: CORE, 8 digits, colon, SCENARIO, 8 digits, colon */
    if (strncmp(text, "trk1:", 5) != 0 || strspn(text + 5, "0123456789abcdef") != 8 ||
        text[13] != ':' || strspn(text + 14, "0123456789abcdef") != 8 || text[22] != ':')
        return fail(fault, "expected trk1:CORE:SCENARIO:STEPS, as a report gives it");
    repro->same_core = strncmp(text + 5, core_build, 8) == 0;
    snprintf(script, sizeof script, "%08" PRIx32, scenario->hash);
    if (strncmp(text + 14, script, 8) != 0)
        return fail(fault, "it was made for another scenario, or another state of this one");
    struct bytes bytes = {.count = 0};
    if (!base32_read(&bytes, text + 23) || !check_take(&bytes) ||
        !turns_read(repro, &bytes, scenario->thread_count - 1))
        return fail(fault, "the steps are cut or damaged: take the whole line");
    return true;
}

void repro_deinit(struct repro *repro)
{
    free(repro->turns);
}
