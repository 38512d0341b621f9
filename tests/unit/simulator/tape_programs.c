/*
 * Programs on tapes that several tests judge, or begin with.
 */
#include "tape_programs.h"

void tape_foreign_good(struct tape *tape)
{
    tape_store(tape, TAPE_CPU, TAPE_A, 1);
    tape_copy(tape, TRK_COPY_UP, TAPE_A, TAPE_P);
    tape_check(tape, TAPE_GPU, TAPE_A, 1);
    tape_store(tape, TAPE_GPU, TAPE_A, 2);
    tape_copy(tape, TRK_COPY_DOWN, TAPE_A, TAPE_P);
    tape_check(tape, TAPE_CPU, TAPE_A, 2);
}

void tape_foreign_upload_over_gpu(struct tape *tape)
{
    tape_foreign_good(tape);
    tape_store(tape, TAPE_GPU, TAPE_A, 3);
    tape_copy(tape, TRK_COPY_UP, TAPE_A, TAPE_P);
}

void tape_taken(struct tape *tape)
{
    tape_store_faulting(tape, TAPE_A, 1);
    tape_upload_copying(tape, TAPE_A, TAPE_P);
    tape_check(tape, TAPE_GPU, TAPE_A, 1);
}

void tape_early_read_back(struct tape *tape)
{
    struct trk_event done = {.type = TRK_EVENT_GPU_COMPLETE, .argument = 1};
    struct trk_event write = {
        .type = TRK_EVENT_GPU_WRITE, .argument = TAPE_A, .seq = 64, .domain = 2};
    trk_event_set_number32(&write, 2);
    tape_put(tape, &done);
    tape_put(tape, &write);
    tape_copy(tape, TRK_COPY_DOWN, TAPE_A, TAPE_P);
    tape_check(tape, TAPE_CPU, TAPE_A, 1);
}

void tape_lost_operation(struct tape *tape)
{
    size_t count = tape->streams[0].count;
    bool answer;
    ignore(trk_tracker_is_cpu(tape->tracker, TAPE_A, TAPE_P, &answer));
    tape->streams[0].count = count;
}

void tape_plain_frame(struct tape *tape)
{
    tape_as(tape, 1);
    tape_store_faulting(tape, TAPE_A, 1);
    tape_signal(tape, 7, 1);
    tape_as(tape, 0);
    tape_await(tape, 7, 1);
    tape_upload_copying(tape, TAPE_A, 4 * TAPE_P);
    tape_gpu_read(tape, TAPE_A, 64);
    tape_check(tape, TAPE_GPU, TAPE_A, 1);
    tape_as(tape, 1);
    tape_store_faulting(tape, TAPE_A, 2); /* races the next check */
    tape_as(tape, 0);
    tape_check(tape, TAPE_GPU, TAPE_A, 1);
}
