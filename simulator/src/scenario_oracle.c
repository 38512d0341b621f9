/*
 * Provenance of bytes, and the order of steps.
 *
 * Rules: scenario-format, Verdicts, Order, fine print 5.
 */
#include "scenario_oracle.h"

#include <string.h>

#include "footprint.h"

/* ---- cells ----------------------------------------------------------------------------------- */

bool oracle_cut(struct oracle *oracle, struct scenario_pool *fixed, const bool cuts[FRAME_BYTES])
{
    bool all[FRAME_BYTES + 1] = {true};
    uint32_t line = oracle->line_bytes, count = 0;
    for (uint32_t i = 0; i < FRAME_BYTES; i++) {
        if (!cuts[i])
            continue;
        all[i] = true;
        all[i / line * line] = true;
        all[(i + line - 1) / line * line] = true;
    }
    for (uint32_t i = 0; i < FRAME_BYTES; i++)
        count += all[i];
    oracle->cell_first = scenario_pool_take(fixed, (count + 1) * sizeof(uint16_t));
    oracle->cell_of = scenario_pool_take(fixed, FRAME_BYTES * sizeof(uint16_t));
    if (oracle->cell_first == NULL || oracle->cell_of == NULL)
        return false;
    oracle->cell_count = 0;
    for (uint32_t i = 0; i < FRAME_BYTES; i++) {
        if (all[i])
            oracle->cell_first[oracle->cell_count++] = (uint16_t)i;
        oracle->cell_of[i] = (uint16_t)(oracle->cell_count - 1);
    }
    oracle->cell_first[count] = FRAME_BYTES;
    return true;
}

bool oracle_init(struct oracle *oracle, struct scenario_pool *pool, uint32_t threads,
                 uint32_t line_bytes)
{
    memset(oracle, 0, sizeof *oracle);
    oracle->pool = pool;
    oracle->threads = threads;
    oracle->line_bytes = line_bytes;
    oracle->clocks = scenario_pool_take(pool, (size_t)threads * threads * sizeof(uint32_t));
    oracle->of_thread = scenario_pool_take(pool, threads * sizeof *oracle->of_thread);
    if (oracle->clocks == NULL || oracle->of_thread == NULL)
        return false;
    for (uint32_t i = 0; i < threads; i++)
        oracle_thread_pool(oracle, i, pool);
    return true;
}

void oracle_thread_pool(struct oracle *oracle, uint32_t thread, struct scenario_pool *pool)
{
    oracle->of_thread[thread].pool = pool;
}

void oracle_frame_touch(struct oracle *oracle, struct frame *frame)
{
    if (frame->cells == NULL) {
        touched_note(oracle->touched, frame, sizeof *frame);
        frame->cells = scenario_pool_take(oracle->pool, oracle->cell_count * sizeof *frame->cells);
    }
    oracle->no_memory |= frame->cells == NULL;
}

/* Cells [first, end) that bytes lie in; with whole granules, those of all granules touched. */
struct cells {
    uint32_t first, end;
};

static struct cells cells_of(const struct oracle *oracle, struct oracle_part part, bool granules)
{
    uint32_t line = granules ? oracle->line_bytes : 1;
    uint32_t first = part.first / line * line;
    uint32_t last = (part.first + part.size - 1) / line * line + line - 1;
    return (struct cells){oracle->cell_of[first], oracle->cell_of[last] + 1u};
}

/* Steps that touch cells of a frame. */
static void note_cells(const struct frame *frame, struct cells cells, bool write)
{
    for (uint32_t i = cells.first; footprint_notes.footprint != NULL && i < cells.end; i++) {
        uint64_t name = frame->name * FRAME_BYTES + i;
        if (write)
            footprint_writes(OBJECT_BYTES, name);
        else
            footprint_reads(OBJECT_BYTES, name);
    }
}

/* Cells of a frame are about to change: all of them lie in the granules that own them. */
static void touch_cells(const struct oracle *oracle, const struct frame *frame, struct cells owned)
{
    touched_note(oracle->touched, &frame->cells[owned.first],
                 (owned.end - owned.first) * sizeof *frame->cells);
}

static const uint32_t *cell_writes(const struct cell *cell)
{
    return cell->capacity != 0 ? cell->many : cell->few;
}

static uint32_t cell_write(const struct cell *cell, uint32_t version)
{
    return version == 0 ? 0 : cell_writes(cell)[version - 1];
}

/* ---- order ----------------------------------------------------------------------------------- */

uint32_t *oracle_clock(struct oracle *oracle, uint32_t thread)
{
    return &oracle->clocks[(size_t)thread * oracle->threads];
}

uint32_t *oracle_clock_new(struct oracle *oracle)
{
    uint32_t *clock = scenario_pool_take(oracle->pool, oracle->threads * sizeof *clock);
    oracle->no_memory |= clock == NULL;
    return clock;
}

void oracle_join(const struct oracle *oracle, uint32_t *into, const uint32_t *from)
{
    for (uint32_t i = 0; i < oracle->threads; i++)
        if (from[i] > into[i])
            into[i] = from[i];
}

static const struct oracle_write *write_of(const struct oracle *oracle, uint32_t write)
{
    uint32_t thread = write % oracle->threads, epoch = write / oracle->threads;
    return &oracle->of_thread[thread].writes[epoch - 1];
}

static bool ordered_before(const struct oracle *oracle, uint32_t write, const uint32_t *clock)
{
    return write / oracle->threads <= clock[write % oracle->threads];
}

const struct scenario_op *oracle_write_op(const struct oracle *oracle, uint32_t write)
{
    return write == 0 ? NULL : write_of(oracle, write)->op;
}

/* ---- writes ---------------------------------------------------------------------------------- */

uint32_t oracle_write_begin(struct oracle *oracle, uint32_t thread, bool gpu,
                            const struct scenario_op *op)
{
    struct oracle_thread *its = &oracle->of_thread[thread];
    uint32_t *own = oracle_clock(oracle, thread), *clock = NULL;
    struct oracle_write *writes =
        scenario_pool_grow(its->pool, its->writes, its->count, &its->capacity, sizeof *writes);
    if (gpu)
        clock = scenario_pool_take(its->pool, oracle->threads * sizeof *clock);
    if (writes == NULL || (gpu && clock == NULL) || own[thread] >= UINT32_MAX / oracle->threads) {
        oracle->no_memory = true;
        return 0;
    }
    own[thread]++;
    if (gpu)
        memcpy(clock, own, oracle->threads * sizeof *clock);
    its->writes = writes;
    writes[its->count++] = (struct oracle_write){.clock = clock, .op = op, .gpu = gpu};
    return own[thread] * oracle->threads + thread;
}

/* Whether nobody can learn anything of a write any more: both copies have seen it. */
static bool forgettable(struct oracle *oracle, uint32_t write)
{
    if (!write_of(oracle, write)->gpu)
        return true;
    /* The first thread has ended before the others begin, and the last learns all they know. */
    for (uint32_t i = 1; i + 1 < oracle->threads; i++)
        if (!ordered_before(oracle, write, oracle_clock(oracle, i)))
            return false;
    return oracle->threads > 2;
}

static void cell_forget(struct oracle *oracle, struct cell *cell)
{
    uint32_t *writes = cell->capacity != 0 ? cell->many : cell->few;
    uint32_t seen = cell->version[0] < cell->version[1] ? cell->version[0] : cell->version[1];
    /* The newest that both have seen stays: a finding names it. What one has not seen, which may be
     * all that a long program ever wrote, is not even looked at. */
    uint32_t old = seen > 0 ? seen - 1 : 0, kept = 0;
    for (uint32_t i = 0; i < old; i++)
        if (!forgettable(oracle, writes[i]))
            writes[kept++] = writes[i];
    uint32_t gone = old - kept;
    if (gone == 0)
        return;
    cell->count -= gone;
    memmove(&writes[kept], &writes[old], (cell->count - kept) * sizeof *writes);
    memset(&writes[cell->count], 0, gone * sizeof *writes);
    cell->version[0] -= gone;
    cell->version[1] -= gone;
}

static void cell_add(struct oracle *oracle, struct cell *cell, uint32_t write)
{
    uint32_t room = cell->capacity != 0 ? cell->capacity : CELL_WRITES;
    if (cell->count == room) {
        uint32_t *many = scenario_pool_take(oracle->pool, (size_t)room * 2 * sizeof *many);
        if (many == NULL || room > UINT32_MAX / 4) {
            oracle->no_memory = true;
            return;
        }
        memcpy(many, cell_writes(cell), cell->count * sizeof *many);
        cell->many = many;
        cell->capacity = room * 2;
    }
    (cell->capacity != 0 ? cell->many : cell->few)[cell->count++] = write;
}

void oracle_write(struct oracle *oracle, struct oracle_part part, enum side side, uint32_t write,
                  uint8_t value)
{
    oracle_frame_touch(oracle, part.frame);
    if (part.frame->cells == NULL || oracle->no_memory)
        return;
    struct cells bytes = cells_of(oracle, part, false), owned = cells_of(oracle, part, true);
    note_cells(part.frame, owned, true);
    touch_cells(oracle, part.frame, owned);
    for (uint32_t i = bytes.first; i < bytes.end; i++)
        part.frame->cells[i].bytes[side] = value;
    for (uint32_t i = owned.first; i < owned.end; i++) {
        struct cell *cell = &part.frame->cells[i];
        cell_add(oracle, cell, write);
        cell->version[side] = cell->count;
        cell_forget(oracle, cell);
    }
}

/* ---- reads and copies ------------------------------------------------------------------------ */

static struct oracle_finding finding_at(const struct oracle *oracle, struct oracle_part part,
                                        uint32_t cell)
{
    uint32_t first = oracle->cell_first[cell];
    return (struct oracle_finding){.found = true,
                                   .offset = first > part.first ? first : part.first};
}

struct oracle_finding oracle_read(const struct oracle *oracle, struct oracle_part part,
                                  enum side side, uint32_t thread)
{
    const uint32_t *clock = &oracle->clocks[(size_t)thread * oracle->threads];
    struct cells cells = cells_of(oracle, part, true);
    note_cells(part.frame, cells, false);
    if (part.frame->cells == NULL)
        return (struct oracle_finding){0};
    for (uint32_t i = cells.first; i < cells.end; i++) {
        const struct cell *cell = &part.frame->cells[i];
        for (uint32_t newer = cell->count; newer > cell->version[side]; newer--) {
            if (!ordered_before(oracle, cell_write(cell, newer), clock))
                continue;
            struct oracle_finding finding = finding_at(oracle, part, i);
            finding.seen = cell_write(cell, cell->version[side]);
            finding.newer = cell_write(cell, newer);
            return finding;
        }
    }
    return (struct oracle_finding){0};
}

struct oracle_finding oracle_copy(struct oracle *oracle, struct oracle_part part, enum side to)
{
    enum side from = to == SIDE_GPU ? SIDE_GUEST : SIDE_GPU;
    struct oracle_finding finding = {0};
    struct cells bytes = cells_of(oracle, part, false), owned = cells_of(oracle, part, true);
    note_cells(part.frame, owned, true);
    if (part.frame->cells == NULL)
        return finding;
    touch_cells(oracle, part.frame, owned);
    for (uint32_t i = bytes.first; i < bytes.end; i++)
        part.frame->cells[i].bytes[to] = part.frame->cells[i].bytes[from];
    for (uint32_t i = owned.first; i < owned.end; i++) {
        struct cell *cell = &part.frame->cells[i];
        if (cell->version[to] > cell->version[from] && !finding.found) {
            finding = finding_at(oracle, part, i);
            finding.seen = cell_write(cell, cell->version[from]);
            finding.newer = cell_write(cell, cell->version[to]);
        }
        cell->version[to] = cell->version[from];
        cell_forget(oracle, cell);
    }
    return finding;
}

struct oracle_finding oracle_gpu_newer(const struct oracle *oracle, struct oracle_part part)
{
    struct cells cells = cells_of(oracle, part, true);
    note_cells(part.frame, cells, false);
    if (part.frame->cells == NULL)
        return (struct oracle_finding){0};
    for (uint32_t i = cells.first; i < cells.end; i++) {
        const struct cell *cell = &part.frame->cells[i];
        if (cell->version[SIDE_GPU] <= cell->version[SIDE_GUEST])
            continue;
        struct oracle_finding finding = finding_at(oracle, part, i);
        finding.seen = cell_write(cell, cell->version[SIDE_GUEST]);
        finding.newer = cell_write(cell, cell->version[SIDE_GPU]);
        return finding;
    }
    return (struct oracle_finding){0};
}

void oracle_order_gpu(const struct oracle *oracle, struct oracle_part part, uint32_t *clock)
{
    struct cells cells = cells_of(oracle, part, true);
    note_cells(part.frame, cells, false);
    if (part.frame->cells == NULL)
        return;
    for (uint32_t i = cells.first; i < cells.end; i++) {
        const struct cell *cell = &part.frame->cells[i];
        for (uint32_t j = 0; j < cell->count; j++) {
            uint32_t write = cell_writes(cell)[j];
            const struct oracle_write *its = write_of(oracle, write);
            if (its->gpu && !ordered_before(oracle, write, clock))
                oracle_join(oracle, clock, its->clock);
        }
    }
}
