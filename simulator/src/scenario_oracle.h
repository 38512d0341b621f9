/*
 * Who has the current bytes: provenance of every byte, and what is ordered before what.
 *
 * Glossary
 *   write    one operation's bytes, numbered in the order of execution: the later is the newer; 0
 * is the fill of a fresh mapping granule  line_size bytes, the unit in which owners are told apart
 *   version  the write that a copy of a granule holds
 *   copy     guest memory, or the GPU's: a frame has one of each
 *   clock    how much of each thread's past is ordered before a thread's next step
 *
 * A read is stale when some write that is ordered before it is newer than the version it sees. A
 * copy that puts an older version over a newer one loses the newer.
 *
 * Rules: scenario-format, Verdicts, Order, fine print 5.
 */
#ifndef SIMULATOR_SCENARIO_ORACLE_H
#define SIMULATOR_SCENARIO_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scenario_pool.h"

#define FRAME_BYTES 4096u

enum side {
    SIDE_GUEST,
    SIDE_GPU,
};

struct scenario_op;

/* A page's bytes. The pool's memory comes with the first write; until then all is 0, version 0. */
struct frame {
    uint8_t *bytes[2];    /* by side */
    uint32_t *version[2]; /* by side, a granule each */
    uint32_t *history;    /* newest node of each granule's writes; 0: none */
    uint32_t views;       /* mapped pages that show it */
};

struct oracle_write {
    uint32_t thread, epoch;
    const uint32_t *clock; /* of its thread, at the write */
    const struct scenario_op *op;
    bool gpu;
};

struct oracle_node {
    uint32_t write, older;
};

struct oracle {
    struct scenario_pool *pool;
    uint32_t threads, line_bytes;
    uint32_t *clocks; /* threads * threads */
    struct oracle_write *writes;
    size_t write_count, write_capacity;
    struct oracle_node *nodes;
    size_t node_count, node_capacity;
    bool no_memory;
};

bool oracle_init(struct oracle *oracle, struct scenario_pool *pool, uint32_t threads,
                 uint32_t line_bytes);

/* ---- order ----------------------------------------------------------------------------------- */

uint32_t *oracle_clock(struct oracle *oracle, uint32_t thread);
/* A clock of its own, all zero: of an event, a mutex, a lock. NULL: no memory. */
uint32_t *oracle_clock_new(struct oracle *oracle);
/* What `from` knows, `into` knows too. */
void oracle_join(const struct oracle *oracle, uint32_t *into, const uint32_t *from);

/* ---- bytes ----------------------------------------------------------------------------------- */

/* A part of a frame: bytes [first, first + size). */
struct oracle_part {
    struct frame *frame;
    uint32_t first, size;
};

/* Begin a write of a thread: its number. */
uint32_t oracle_write_begin(struct oracle *oracle, uint32_t thread, bool gpu,
                            const struct scenario_op *op);
/* Put a write's bytes into one copy; its granules are the newest there. */
void oracle_write(struct oracle *oracle, struct oracle_part part, enum side side, uint32_t write,
                  uint8_t value);

/* What a look at some bytes finds first. */
struct oracle_finding {
    bool found;
    uint32_t offset;      /* in the frame */
    uint32_t seen, newer; /* writes */
};

/* Whether a thread's read of one copy would be stale. */
struct oracle_finding oracle_read(struct oracle *oracle, struct oracle_part part, enum side side,
                                  uint32_t thread);
/* Copy between the copies, to the side given; finds newer bytes that are overwritten. */
struct oracle_finding oracle_copy(struct oracle *oracle, struct oracle_part part, enum side to);
/* Whether the GPU's copy is newer somewhere. */
struct oracle_finding oracle_gpu_newer(const struct oracle *oracle, struct oracle_part part);
/* Order all GPU writes to these bytes before whatever the thread does from now on. */
void oracle_order_gpu(struct oracle *oracle, struct oracle_part part, uint32_t thread);

static inline uint8_t frame_byte(const struct frame *frame, enum side side, uint32_t offset)
{
    return frame->bytes[side] != NULL ? frame->bytes[side][offset] : 0;
}

#endif
