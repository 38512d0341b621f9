/*
 * Provenance of bytes, and the order of steps.
 *
 * Rules: scenario-format, Verdicts, Order, fine print 5.
 */
#include "scenario_oracle.h"

#include <string.h>

bool oracle_init(struct oracle *oracle, struct scenario_pool *pool, uint32_t threads,
                 uint32_t line_bytes)
{
    memset(oracle, 0, sizeof *oracle);
    oracle->pool = pool;
    oracle->threads = threads;
    oracle->line_bytes = line_bytes;
    oracle->clocks = scenario_pool_take(pool, (size_t)threads * threads * sizeof(uint32_t));
    if (oracle->clocks == NULL)
        return false;
    /* Write 0 and node 0 stand for the fill: number them away. */
    uint32_t fill = oracle_write_begin(oracle, 0, false, NULL);
    oracle->nodes =
        scenario_pool_grow(pool, NULL, 0, &oracle->node_capacity, sizeof *oracle->nodes);
    oracle->node_count = 1;
    return fill == 0 && oracle->nodes != NULL && !oracle->no_memory;
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

/* ---- writes ---------------------------------------------------------------------------------- */

uint32_t oracle_write_begin(struct oracle *oracle, uint32_t thread, bool gpu,
                            const struct scenario_op *op)
{
    struct oracle_write *writes = scenario_pool_grow(
        oracle->pool, oracle->writes, oracle->write_count, &oracle->write_capacity, sizeof *writes);
    uint32_t *clock = oracle_clock_new(oracle);
    if (writes == NULL || clock == NULL) {
        oracle->no_memory = true;
        return 0;
    }
    uint32_t *own = oracle_clock(oracle, thread);
    own[thread]++;
    memcpy(clock, own, oracle->threads * sizeof *clock);
    oracle->writes = writes;
    writes[oracle->write_count] = (struct oracle_write){
        .thread = thread, .epoch = own[thread], .clock = clock, .op = op, .gpu = gpu};
    return (uint32_t)oracle->write_count++;
}

static bool frame_touch(struct oracle *oracle, struct frame *frame)
{
    if (frame->history != NULL)
        return true;
    size_t granules = FRAME_BYTES / oracle->line_bytes;
    for (int side = 0; side < 2; side++) {
        frame->bytes[side] = scenario_pool_take(oracle->pool, FRAME_BYTES);
        frame->version[side] = scenario_pool_take(oracle->pool, granules * sizeof(uint32_t));
        if (frame->bytes[side] == NULL || frame->version[side] == NULL)
            return false;
    }
    frame->history = scenario_pool_take(oracle->pool, granules * sizeof(uint32_t));
    return frame->history != NULL;
}

static bool history_add(struct oracle *oracle, uint32_t *newest, uint32_t write)
{
    struct oracle_node *nodes = scenario_pool_grow(oracle->pool, oracle->nodes, oracle->node_count,
                                                   &oracle->node_capacity, sizeof *nodes);
    if (nodes == NULL || oracle->node_count == UINT32_MAX)
        return false;
    oracle->nodes = nodes;
    nodes[oracle->node_count] = (struct oracle_node){.write = write, .older = *newest};
    *newest = (uint32_t)oracle->node_count++;
    return true;
}

#define FOR_GRANULES(oracle, granule, part)                                                        \
    for (uint32_t granule = (part).first / (oracle)->line_bytes;                                   \
         granule <= ((part).first + (part).size - 1) / (oracle)->line_bytes; granule++)

/* The first byte of the part that lies in a granule. */
static uint32_t granule_offset(const struct oracle *oracle, struct oracle_part part,
                               uint32_t granule)
{
    uint32_t first = granule * oracle->line_bytes;
    return first > part.first ? first : part.first;
}

void oracle_write(struct oracle *oracle, struct oracle_part part, enum side side, uint32_t write,
                  uint8_t value)
{
    struct frame *frame = part.frame;
    if (!frame_touch(oracle, frame)) {
        oracle->no_memory = true;
        return;
    }
    memset(frame->bytes[side] + part.first, value, part.size);
    FOR_GRANULES(oracle, granule, part)
    {
        frame->version[side][granule] = write;
        if (!history_add(oracle, &frame->history[granule], write))
            oracle->no_memory = true;
    }
}

/* ---- reads and copies ------------------------------------------------------------------------ */

static bool ordered_before(const struct oracle *oracle, uint32_t write, const uint32_t *clock)
{
    const struct oracle_write *one = &oracle->writes[write];
    return one->epoch <= clock[one->thread];
}

struct oracle_finding oracle_read(struct oracle *oracle, struct oracle_part part, enum side side,
                                  uint32_t thread)
{
    const struct frame *frame = part.frame;
    const uint32_t *clock = oracle_clock(oracle, thread);
    if (frame->history == NULL)
        return (struct oracle_finding){0};
    FOR_GRANULES(oracle, granule, part)
    {
        uint32_t seen = frame->version[side][granule];
        for (uint32_t node = frame->history[granule]; node != 0 && oracle->nodes[node].write > seen;
             node = oracle->nodes[node].older) {
            uint32_t write = oracle->nodes[node].write;
            if (ordered_before(oracle, write, clock))
                return (struct oracle_finding){true, granule_offset(oracle, part, granule), seen,
                                               write};
        }
    }
    return (struct oracle_finding){0};
}

struct oracle_finding oracle_copy(struct oracle *oracle, struct oracle_part part, enum side to)
{
    struct frame *frame = part.frame;
    enum side from = to == SIDE_GPU ? SIDE_GUEST : SIDE_GPU;
    struct oracle_finding finding = {0};
    if (frame->history == NULL)
        return finding;
    FOR_GRANULES(oracle, granule, part)
    {
        uint32_t source = frame->version[from][granule];
        uint32_t *target = &frame->version[to][granule];
        if (*target > source && !finding.found)
            finding = (struct oracle_finding){true, granule_offset(oracle, part, granule), source,
                                              *target};
        *target = source;
    }
    memcpy(frame->bytes[to] + part.first, frame->bytes[from] + part.first, part.size);
    return finding;
}

struct oracle_finding oracle_gpu_newer(const struct oracle *oracle, struct oracle_part part)
{
    const struct frame *frame = part.frame;
    if (frame->history == NULL)
        return (struct oracle_finding){0};
    FOR_GRANULES(oracle, granule, part)
    {
        uint32_t guest = frame->version[SIDE_GUEST][granule];
        uint32_t gpu = frame->version[SIDE_GPU][granule];
        if (gpu > guest)
            return (struct oracle_finding){true, granule_offset(oracle, part, granule), guest, gpu};
    }
    return (struct oracle_finding){0};
}

void oracle_order_gpu(struct oracle *oracle, struct oracle_part part, uint32_t thread)
{
    const struct frame *frame = part.frame;
    uint32_t *clock = oracle_clock(oracle, thread);
    if (frame->history == NULL)
        return;
    FOR_GRANULES(oracle, granule, part)
    for (uint32_t node = frame->history[granule]; node != 0; node = oracle->nodes[node].older) {
        uint32_t write = oracle->nodes[node].write;
        if (oracle->writes[write].gpu && !ordered_before(oracle, write, clock))
            oracle_join(oracle, clock, oracle->writes[write].clock);
    }
}
