/*
 * A run's state as bytes: to know states again, and to go back to them.
 *
 * The bytes are pieces of memory, each behind its place and size. With the stacks they are the
 * whole state, so that equal bytes have an equal future; what only counts, and what lies below the
 * stacks, is zeroed. What a stack holds depends on the compiler, which leaves things there that
 * have no meaning any more. Without the stacks the threads' digests stand for them: the same states
 * are known again on every machine, if nothing that a thread sees is forgotten in its digest.
 */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "scenario_schedule.h"
#include "track/sim_build.h"

struct piece {
    void *memory;
    size_t size;
};

static void add(void *context, void *memory, size_t size_bytes)
{
    struct snapshot *snapshot = context;
    struct piece piece = {memory, size_bytes};
    size_t needed = snapshot->size + sizeof piece + size_bytes;
    if (needed > snapshot->capacity) {
        size_t capacity = needed * 2;
        unsigned char *bytes = realloc(snapshot->bytes, capacity);
        snapshot->no_memory |= bytes == NULL;
        if (bytes == NULL)
            return;
        snapshot->bytes = bytes;
        snapshot->capacity = capacity;
    }
    memcpy(snapshot->bytes + snapshot->size, &piece, sizeof piece);
    coroutine_copy(snapshot->bytes + snapshot->size + sizeof piece, memory, size_bytes);
    snapshot->size = needed;
}

/* A lock of a tracker that is made anew each time lies anywhere: what a thread has seen says which
 * one it waits for. */
static void hide_locks(struct scenario_run *run, const uint32_t **locks, bool hide)
{
    for (uint32_t i = 0; !core_ways.returns && i < run->thread_count; i++) {
        const uint32_t *lock = run->threads[i].wait_lock;
        run->threads[i].wait_lock = hide ? NULL : locks[i];
        locks[i] = lock;
    }
}

void snapshot_save_state(struct snapshot *snapshot, struct scenario_run *run)
{
    const uint32_t *locks[TRK_SCENARIO_THREADS + 2] = {NULL};
    hide_locks(run, locks, true);
    snapshot->size = 0;
    run->core_digest = core_insides->digest(run->tracker);
    core_insides->forget(run->tracker, run->reach, run->reach_count);
    add(snapshot, run, sizeof *run);
    scenario_pool_pieces(&run->pool, add, snapshot);
    touched_pieces(run->touched, add, snapshot);
    for (uint32_t i = 0; i < run->thread_count; i++) {
        struct run_thread *thread = &run->threads[i];
        scenario_pool_pieces(&thread->pool, add, snapshot);
        scenario_pool_pieces(&thread->scratch, add, snapshot);
    }
    core_insides->pieces(run->tracker, run->reach, run->reach_count, add, snapshot);
    snapshot->without_stacks = snapshot->size;
    hide_locks(run, locks, false);
}

void snapshot_save_stacks(struct snapshot *snapshot, struct scenario_run *run)
{
    for (uint32_t i = 0; i < run->thread_count; i++)
        coroutine_pieces(run->threads[i].coroutine, add, snapshot);
}

void snapshot_save(struct snapshot *snapshot, struct scenario_run *run)
{
    snapshot_save_state(snapshot, run);
    snapshot_save_stacks(snapshot, run);
}

uint64_t snapshot_hash(const struct snapshot *snapshot, bool stacks)
{
    return XXH3_64bits(snapshot->bytes, stacks ? snapshot->size : snapshot->without_stacks);
}

static void put_back(const struct snapshot *snapshot)
{
    struct piece piece;
    for (size_t at = 0; at < snapshot->size; at += sizeof piece + piece.size) {
        memcpy(&piece, snapshot->bytes + at, sizeof piece);
        coroutine_copy(piece.memory, snapshot->bytes + at + sizeof piece, piece.size);
    }
}

void snapshot_restore(const struct snapshot *snapshot, struct scenario_run *run)
{
    struct run_thread *threads = run->threads;
    uint32_t count = run->thread_count;
    struct scenario_pool_block *begun[2 * (TRK_SCENARIO_THREADS + 2)];
    struct scenario_pool_block *own = scenario_pool_restore_begin(&run->pool);
    for (uint32_t i = 0; i < count; i++) {
        begun[2 * i] = scenario_pool_restore_begin(&threads[i].pool);
        begun[2 * i + 1] = scenario_pool_restore_begin(&threads[i].scratch);
    }
    void *core = core_insides->restore_begin(run->tracker);
    touched_reset(run->touched);
    put_back(snapshot);
    core_insides->restore_end(run->tracker, core);
    for (uint32_t i = 0; i < count; i++) {
        scenario_pool_restore_end(&threads[i].pool, begun[2 * i]);
        scenario_pool_restore_end(&threads[i].scratch, begun[2 * i + 1]);
    }
    scenario_pool_restore_end(&run->pool, own);
}

void snapshot_deinit(struct snapshot *snapshot)
{
    free(snapshot->bytes);
}
