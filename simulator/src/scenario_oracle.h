/*
 * Who has the current bytes: provenance of every byte, and what is ordered before what.
 *
 * Glossary
 *   granule  line_size bytes, the unit in which owners are told apart
 *   cell     neighbouring bytes of a page that no operation of the file tells apart: what happens
 *            to one happens to all. A granule, or a part of one, or several
 *   write    one operation's bytes; its number says whose it is and which of that thread's, so that
 *            it is the same in every order of threads. 0 is the fill of a fresh mapping
 *   version  of a copy of a cell: how many of the cell's writes it has seen
 *   copy     guest memory, or the GPU's: a frame has one of each
 *   clock    how much of each thread's past is ordered before a thread's next step
 *
 * A read is stale when some write that is ordered before it is newer than the version it sees. A
 * copy that puts an older version over a newer one loses the newer. Of a cell's writes those are
 * forgotten that both copies have seen and that every thread knows of, if it is to know.
 *
 * Rules: scenario-format, Verdicts, Order, fine print 5.
 */
#ifndef SIMULATOR_SCENARIO_ORACLE_H
#define SIMULATOR_SCENARIO_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scenario_pool.h"
#include "scenario_touched.h"

#define FRAME_BYTES 4096u

enum side {
    SIDE_GUEST,
    SIDE_GPU,
};

struct scenario_op;

#define CELL_WRITES 4u /* that a cell keeps without memory of its own */

struct cell {
    uint8_t bytes[2];                 /* by side */
    uint32_t version[2];              /* by side: writes[0, version) have been seen */
    uint32_t count, capacity;         /* capacity 0: in few */
    uint32_t few[CELL_WRITES], *many; /* ascending in time */
};

/* A page's bytes. The cells come with the first write; until then all is 0, version 0. */
struct frame {
    struct cell *cells;
    uint32_t views; /* mapped pages that show it */
    uint64_t name;  /* of the page of a memory object that it belongs to */
};

struct oracle_write {
    const uint32_t *clock; /* of its thread, at the write */
    const struct scenario_op *op;
    bool gpu;
};

/* The writes of one thread. Their memory is the thread's own: no order of threads moves it. */
struct oracle_thread {
    struct scenario_pool *pool;
    struct oracle_write *writes; /* the first has the epoch 1 */
    size_t count, capacity;
};

struct oracle {
    struct scenario_pool *pool;
    struct touched *touched; /* frames and their cells; NULL: nobody wants to know what changes */
    uint32_t threads, line_bytes;
    uint32_t *clocks; /* threads * threads */
    struct oracle_thread *of_thread;
    uint16_t *cell_first; /* cell_count + 1: offsets in a page */
    uint16_t *cell_of;    /* the cell of a byte */
    uint32_t cell_count;
    bool no_memory;
};

bool oracle_init(struct oracle *oracle, struct scenario_pool *pool, uint32_t threads,
                 uint32_t line_bytes);
/* Before the first write. cuts[i]: an operation begins, or ends, before byte i of a page. */
bool oracle_cut(struct oracle *oracle, struct scenario_pool *fixed, const bool cuts[FRAME_BYTES]);
/* Where a thread's writes are kept; the oracle's own pool if not said. */
void oracle_thread_pool(struct oracle *oracle, uint32_t thread, struct scenario_pool *pool);

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

/* Give a frame its cells now. */
void oracle_frame_touch(struct oracle *oracle, struct frame *frame);
/* Begin a write of a thread: its number. */
uint32_t oracle_write_begin(struct oracle *oracle, uint32_t thread, bool gpu,
                            const struct scenario_op *op);
/* The operation of a write; NULL: it is the fill, or has none. */
const struct scenario_op *oracle_write_op(const struct oracle *oracle, uint32_t write);
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
struct oracle_finding oracle_read(const struct oracle *oracle, struct oracle_part part,
                                  enum side side, uint32_t thread);
/* Copy between the copies, to the side given; finds newer bytes that are overwritten. */
struct oracle_finding oracle_copy(struct oracle *oracle, struct oracle_part part, enum side to);
/* Whether the GPU's copy is newer somewhere. */
struct oracle_finding oracle_gpu_newer(const struct oracle *oracle, struct oracle_part part);
/* Order all GPU writes to these bytes up to now before whatever comes to know the clock. */
void oracle_order_gpu(const struct oracle *oracle, struct oracle_part part, uint32_t *clock);

/* Where the cell of a byte ends, in the page. */
static inline uint32_t oracle_cell_end(const struct oracle *oracle, uint32_t offset)
{
    return oracle->cell_first[oracle->cell_of[offset] + 1u];
}

static inline uint8_t frame_byte(const struct oracle *oracle, const struct frame *frame,
                                 enum side side, uint32_t offset)
{
    return frame->cells != NULL ? frame->cells[oracle->cell_of[offset]].bytes[side] : 0;
}

#endif
