/*
 * Goal: commands that touch the same bytes are ordered by a barrier, others are not; what is not
 * usable is refused and leaves nothing recorded; ticks and their command buffers go round.
 * Method: the entry points are replaced by ones that write down one letter a call, and each case
 * says which letters must come. Each submission begins with b (behind all earlier ones) and ends
 * with b (for the host) and s.
 */
#include <criterion/criterion.h>

#include "fake_vk.h"

#define SIZE 4096u

enum step_kind { END, COPY, FILL, SUBMIT };

/* Buffers are numbered 0 to 2. A fill uses target and target_offset only. */
struct step {
    enum step_kind kind;
    int source, target;
    uint64_t source_offset, target_offset, size_bytes;
};

struct order_case {
    const char *name;
    struct step steps[6];
    const char *log;
};

static const struct order_case order_cases[] = {
    {"one copy", {{COPY, 0, 1, 0, 0, 64}, {SUBMIT, 0, 0, 0, 0, 0}}, "bcbs"},
    {"copies side by side", {{COPY, 0, 1, 0, 0, 64}, {COPY, 0, 1, 64, 64, 64}}, "bcc"},
    {"reads of the same bytes", {{COPY, 0, 1, 0, 0, 64}, {COPY, 0, 2, 0, 0, 64}}, "bcc"},
    {"write after write", {{COPY, 0, 1, 0, 0, 64}, {FILL, 0, 1, 0, 60, 4}}, "bcbf"},
    {"write beside write", {{COPY, 0, 1, 0, 0, 64}, {FILL, 0, 1, 0, 64, 4}}, "bcf"},
    {"read after write", {{COPY, 0, 1, 0, 0, 64}, {COPY, 1, 2, 63, 0, 8}}, "bcbc"},
    {"write after read", {{COPY, 0, 1, 0, 0, 64}, {FILL, 0, 0, 0, 0, 4}}, "bcbf"},
    {"same offsets, other buffer", {{FILL, 0, 1, 0, 0, 64}, {FILL, 0, 2, 0, 0, 64}}, "bff"},
    {"a submission forgets",
     {{FILL, 0, 1, 0, 0, 64}, {SUBMIT, 0, 0, 0, 0, 0}, {FILL, 0, 1, 0, 0, 64}},
     "bfbsbf"},
    {"an empty submission", {{SUBMIT, 0, 0, 0, 0, 0}}, "bbs"},
};

static enum trk_status play(struct trk_vk *vk, struct trk_vk_buffer *buffers,
                            const struct step *step, struct trk_error *error)
{
    struct trk_vk_region region = {step->source_offset, step->target_offset, step->size_bytes};
    uint64_t tick = 0;
    switch (step->kind) {
    case COPY:
        return trk_vk_copy(vk, &buffers[step->source], &buffers[step->target], &region, error);
    case FILL:
        return trk_vk_fill(vk, &buffers[step->target], step->target_offset, step->size_bytes, 1,
                           error);
    case SUBMIT:
        return trk_vk_submit(vk, &tick, error);
    case END:
        break;
    }
    return TRK_OK;
}

Test(vk_commands, order)
{
    for (size_t i = 0; i < sizeof order_cases / sizeof *order_cases; i++) {
        const struct order_case *given = &order_cases[i];
        struct trk_vk vk;
        struct trk_vk_buffer buffers[3] = {fake_buffer(SIZE), fake_buffer(SIZE), fake_buffer(SIZE)};
        fake_vk_init(&vk);
        for (const struct step *step = given->steps; step->kind != END; step++) {
            cr_assert_eq(play(&vk, buffers, step, NULL), TRK_OK, "%s", given->name);
        }
        cr_expect_str_eq(fake_log, given->log, "%s: %s, expected %s", given->name, fake_log,
                         given->log);
    }
}

struct refusal_case {
    const char *name;
    struct step step;
};

static const struct refusal_case refusal_cases[] = {
    {"copy of nothing", {COPY, 0, 1, 0, 0, 0}},
    {"copy beyond the source", {COPY, 0, 1, 1, 0, SIZE}},
    {"copy beyond the target", {COPY, 0, 1, 0, 1, SIZE}},
    {"copy from behind the source", {COPY, 0, 1, SIZE + 1, 0, 1}},
    {"copy whose end wraps", {COPY, 0, 1, 4, 0, UINT64_MAX}},
    {"copy whose offset wraps", {COPY, 0, 1, UINT64_MAX, 0, 2}},
    {"copy onto itself", {COPY, 0, 0, 0, 8, 16}},
    {"fill of nothing", {FILL, 0, 1, 0, 0, 0}},
    {"fill of an odd size", {FILL, 0, 1, 0, 0, 6}},
    {"fill at an odd offset", {FILL, 0, 1, 0, 2, 4}},
    {"fill beyond the end", {FILL, 0, 1, 0, SIZE - 4, 8}},
};

Test(vk_commands, refusals)
{
    for (size_t i = 0; i < sizeof refusal_cases / sizeof *refusal_cases; i++) {
        const struct refusal_case *given = &refusal_cases[i];
        struct trk_vk vk;
        struct trk_error error = {.status = TRK_OK};
        struct trk_vk_buffer buffers[2] = {fake_buffer(SIZE), fake_buffer(SIZE)};
        fake_vk_init(&vk);
        cr_expect_eq(play(&vk, buffers, &given->step, &error), TRK_E_ARGUMENT, "%s", given->name);
        cr_expect_eq(error.status, TRK_E_ARGUMENT, "%s", given->name);
        cr_expect_str_empty(fake_log, "%s: something was recorded", given->name);
    }
}

/* More accesses than are remembered: order is kept by a barrier, nothing is written past the end.
 */
Test(vk_commands, many_accesses)
{
    struct trk_vk vk;
    struct trk_vk_buffer buffers[2] = {fake_buffer(1 << 20), fake_buffer(1 << 20)};
    fake_vk_init(&vk);
    for (uint32_t i = 0; i < TRK_VK_ACCESSES * 2; i++) {
        struct step step = {COPY, 0, 1, i * 8u, i * 8u, 8};
        cr_assert_eq(play(&vk, buffers, &step, NULL), TRK_OK);
        cr_assert_leq(vk.access_count, TRK_VK_ACCESSES);
    }
    struct step again = {COPY, 0, 1, 0, 0, 8};
    memset(fake_log, 0, sizeof fake_log);
    vk.access_count = 0;
    cr_assert_eq(play(&vk, buffers, &again, NULL), TRK_OK);
    cr_assert_eq(play(&vk, buffers, &again, NULL), TRK_OK);
    cr_expect_str_eq(fake_log, "cbc");
}

Test(vk_commands, ticks_go_round)
{
    struct trk_vk vk;
    uint64_t tick = 0;
    fake_vk_init(&vk);
    cr_expect_eq(trk_vk_wait(&vk, 1, NULL), TRK_E_ARGUMENT, "never submitted");
    for (uint64_t i = 1; i <= TRK_VK_SLOTS; i++) {
        cr_assert_eq(trk_vk_submit(&vk, &tick, NULL), TRK_OK);
        cr_assert_eq(tick, i);
    }
    cr_expect_null(strchr(fake_log, 'w'), "no command buffer was needed twice");
    cr_assert_eq(trk_vk_submit(&vk, &tick, NULL), TRK_OK);
    cr_expect_not_null(strchr(fake_log, 'w'), "the first one's fence is awaited");
    memset(fake_log, 0, sizeof fake_log);
    cr_expect_eq(trk_vk_wait(&vk, tick, NULL), TRK_OK);
    cr_expect_eq(trk_vk_wait(&vk, 2, NULL), TRK_OK);
    cr_expect_str_eq(fake_log, "w", "what ran before the last has run too");
}

Test(vk_commands, device_errors)
{
    struct trk_vk vk;
    struct trk_error error;
    uint64_t tick = 77;
    fake_vk_init(&vk);
    fake_begin_result = VK_ERROR_OUT_OF_HOST_MEMORY;
    cr_expect_eq(trk_vk_submit(&vk, &tick, &error), TRK_E_MEMORY);
    fake_begin_result = VK_SUCCESS;
    fake_submit_result = VK_ERROR_DEVICE_LOST;
    cr_expect_eq(trk_vk_submit(&vk, &tick, &error), TRK_E_SYSTEM);
    cr_expect_eq(tick, 77, "no tick was given");
    cr_expect_eq(trk_vk_wait(&vk, 1, NULL), TRK_E_ARGUMENT, "nor can it be awaited");
    fake_submit_result = VK_SUCCESS;
    cr_expect_eq(trk_vk_submit(&vk, &tick, &error), TRK_OK);
    cr_expect_eq(tick, 1);
    fake_wait_result = VK_TIMEOUT;
    cr_expect_eq(trk_vk_wait(&vk, 1, &error), TRK_E_SYSTEM);
    fake_wait_result = VK_SUCCESS;
    cr_expect_eq(trk_vk_wait(&vk, 1, &error), TRK_OK, "a later wait may succeed");
}
