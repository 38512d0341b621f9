/*
 * Goal: a report of a trace says the same words as ever, all of them.
 *
 * Method: tapes of known faults, judged by the oracle alone; the report as text against a stored
 * one. A text that differs is printed whole; where it is meant, it is the new one.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tape_programs.h"

#define TEXT_BYTES 8192u

/* ---- faults ---------------------------------------------------------------------------------- */

static void copy_before_arm(struct tape *tape)
{
    tape_store(tape, TAPE_CPU, TAPE_A, 1);
    tape_copy(tape, TRK_COPY_UP, TAPE_A, 2 * TAPE_P);
    tape_signal(tape, 1, 1);
    tape_as(tape, 1);
    tape_await(tape, 1, 1);
    tape_store(tape, TAPE_CPU, TAPE_A, 2);
    tape_signal(tape, 2, 1);
    tape_as(tape, 0);
    tape_await(tape, 2, 1);
    tape_upload(tape, TAPE_A, 2 * TAPE_P, false);
    tape_check(tape, TAPE_GPU, TAPE_A, 1);
}

static void missed_re_arm(struct tape *tape)
{
    tape_taken(tape);
    ignore(trk_tracker_set_guest_protection(tape->tracker, TAPE_A, TAPE_P, TRK_RIGHT_READ));
    ignore(trk_tracker_set_guest_protection(tape->tracker, TAPE_A, TAPE_P, TRK_RIGHTS_RW));
    tape_store(tape, TAPE_CPU, TAPE_A, 2);
    tape_check(tape, TAPE_GPU, TAPE_A, 1);
}

static void kernel_store_latent(struct tape *tape)
{
    tape_taken(tape);
    tape_store(tape, TRK_AGENT_KERNEL, TAPE_A, 2);
}

static void upload_over_newer(struct tape *tape)
{
    tape_taken(tape);
    tape_store(tape, TAPE_GPU, TAPE_A, 2);
    tape_copy(tape, TRK_COPY_UP, TAPE_A, TAPE_P);
}

static void leave_last_page(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    tape_drain(context, guest_addr, size_bytes - TAPE_P);
}

static void retained(struct tape *tape)
{
    tape_upload(tape, TAPE_A, 2 * TAPE_P, true);
    tape_store(tape, TAPE_GPU, TAPE_A + TAPE_P, 7);
    ignore(trk_tracker_invalidate(tape->tracker, TAPE_A, 2 * TAPE_P, leave_last_page, tape));
}

static const struct {
    const char *name;
    void (*record)(struct tape *tape);
} cases[] = {
    {"copy-before-arm", copy_before_arm},         {"missed-re-arm", missed_re_arm},
    {"kernel-store-latent", kernel_store_latent}, {"early-read-back", tape_early_read_back},
    {"upload-over-newer", upload_over_newer},     {"retained", retained},
};

/* ---- texts ----------------------------------------------------------------------------------- */

static void write_text(const struct trk_sim_report *report, char text[TEXT_BYTES])
{
    int used = snprintf(text, TEXT_BYTES, "%s (%s)\n%s\nat %" PRIu64 ", visible %" PRIu64 "\n",
                        trk_verdict_name(report), report->detail, report->text, report->event_at,
                        report->event_visible);
    for (size_t i = 0; i < report->story_count; i++) {
        const struct trk_story_line *line = &report->story[i];
        used += snprintf(text + used, TEXT_BYTES - (size_t)used, "%zu %" PRIu64 " %s: %s [%s]\n",
                         i + 1, line->event, line->thread, line->text, line->role);
    }
    snprintf(text + used, TEXT_BYTES - (size_t)used,
             "writer: %s\nholder: %s\nteller: %s\nmissing: %s\npasses: %s\n", report->writer,
             report->holder, report->teller, report->missing, report->passes);
}

static void read_text(const char *name, char text[TEXT_BYTES])
{
    char path[4096];
    snprintf(path, sizeof path, REPORTS "/%s.txt", name);
    FILE *file = fopen(path, "r");
    size_t size = file != NULL ? fread(text, 1, TEXT_BYTES - 1, file) : 0;
    text[size] = '\0';
    if (file != NULL)
        fclose(file);
}

Test(reports, say_the_same_as_ever)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char said[TEXT_BYTES], stored[TEXT_BYTES];
        struct tape *tape = tape_create("default");
        cases[i].record(tape);
        struct trk_sim_report report = tape_judge_alone(tape, 1);
        write_text(&report, said);
        read_text(cases[i].name, stored);
        cr_expect_str_eq(said, stored, "%s says:\n%s", cases[i].name, said);
        tape_destroy(tape);
    }
}
