#include "small_trace.h"

#include <stdlib.h>
#include <string.h>

#include "recorder/blobs.h"
#include "recorder/checkpoint.h"
#include "recorder/packing.h"

#define REGION ((uint32_t)TRK_DOMAIN_REGION << 28 | 0x800)
#define PAGES  ((uint32_t)TRK_DOMAIN_PAGES << 28 | 0x800)

static const struct trk_record guest[] = {
    {1000,
     {.type = TRK_EVENT_FAULT, .argument = 0x200003010, .domain = PAGES, .seq = 1, .page = 3}},
    {1100, {.type = TRK_EVENT_LOCK, .domain = REGION, .seq = 1}},
    {1200,
     {.type = TRK_EVENT_PROTECT,
      .domain = PAGES,
      .seq = 2,
      .page = 3,
      .pages = 1,
      .flags = TRK_RIGHTS_RW | TRK_EVENT_HOLD_END}},
    {1300, {.type = TRK_EVENT_UNLOCK, .domain = REGION, .seq = 1, .pages = 1}},
    {1400, {.type = TRK_EVENT_OP_END, .context = TRK_OP_FAULT, .argument = TRK_FAULT_SERVED}},
    {1500, {.type = TRK_EVENT_WITNESS_STORE, .argument = 0x200003010, .seq = 64, .domain = 77}},
    {1600, {.type = TRK_EVENT_SIGNAL, .domain = 4, .argument = 1}},
};

static const struct trk_record render[] = {
    {900, {.type = TRK_EVENT_FRAME, .argument = 1}},
    {950, {.type = TRK_EVENT_AWAIT, .domain = 4, .argument = 1}},
    {2000,
     {.type = TRK_EVENT_OP_BEGIN,
      .argument = 0x200000000,
      .seq = 0x10000,
      .context = TRK_OP_UPLOAD}},
    {2100, {.type = TRK_EVENT_LOCK, .domain = REGION, .seq = 2}},
    {2200,
     {.type = TRK_EVENT_PROTECT,
      .domain = PAGES,
      .seq = 3,
      .page = 3,
      .pages = 1,
      .flags = TRK_RIGHT_READ | TRK_EVENT_HOLD_END}},
    {2300, {.type = TRK_EVENT_RANGE, .domain = REGION, .seq = 2, .page = 3, .pages = 1}},
    {2400, {.type = TRK_EVENT_COPY_BEGIN, .argument = 0x200003000, .seq = 0x1000, .page = 9}},
    {2500, {.type = TRK_EVENT_COPY_END, .argument = 0x200003000, .seq = 0x1000, .page = 9}},
    {2600, {.type = TRK_EVENT_UNLOCK, .domain = REGION, .seq = 2, .pages = 1}},
    {2700, {.type = TRK_EVENT_OP_END, .context = TRK_OP_UPLOAD, .argument = 1}},
    {2800, {.type = 0xee, .argument = UINT64_MAX, .flags = 0xff}}, /* newer than any reader */
};

/* Since 1.2. */
static const struct trk_record details[SMALL_TRACE_DETAILS] = {
    {3000,
     {.type = TRK_EVENT_FAULT_AT,
      .argument = 0x7f1234567890,
      .seq = 0x5678,
      .domain = 0x7ffc,
      .page = 0x1234,
      .pages = 1,
      .flags = TRK_SOURCE_PROCESSOR,
      .context = 8}},
    {3100, {.type = TRK_EVENT_SHARED, .argument = 41, .page = 7, .flags = 1, .context = 2}},
    {3200,
     {.type = TRK_EVENT_RESULT,
      .argument = 4096,
      .seq = 512,
      .flags = TRK_RESULT_OF_COPY,
      .context = 14}},
    {3300,
     {.type = TRK_EVENT_OBJECT_DETAIL,
      .argument = UINT64_C(1) << 40,
      .seq = 0x3000,
      .page = 9,
      .context = TRK_REASON_EVICTED}},
};

const struct trk_trace_anchor small_trace_clocks = {3400, 76578267447265, 1796073947022981814};

void small_trace_page(unsigned number, uint8_t page[TRK_BLOB_BYTES])
{
    memset(page, (int)number + 1, TRK_BLOB_BYTES);
    page[100 + number] = 0xff;
}

static void add_page(struct trace_file *file, unsigned number)
{
    uint8_t page[TRK_BLOB_BYTES];
    small_trace_page(number, page);
    if (trk_writer_blob(file->writer, page, NULL) != TRK_OK) {
        abort();
    }
}

/* The end as a checkpoint has it: streams, holds, a timeline, a tracker with one region. */
static void add_checkpoint(struct trace_file *file)
{
    static const uint64_t numbers[] = {
        TRK_CHECKPOINT_FULL,
        2,
        0,
        7,
        1,
        11, /* ordinals */
        2,
        REGION,
        2,
        PAGES,
        3,
        1,
        4,
        1, /* holds, timelines */
        1,
        1,
        900,
        TRK_EVENT_MAP,
        0,
        3,
        0,
        0,
        0,
        0x10000,
        0x200000000, /* prologue */
        1,
        0,
        0,
        1,
        0x800,
        2,
        3,
        0,
        1,
        0x3010,
        0x3050, /* one region without sets, a span */
    };
    struct trk_packing packing = {0};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        trk_packing_number(&packing, numbers[i]);
    }
    if (trk_writer_checkpoint(file->writer, 18, packing.bytes, packing.size_bytes, NULL) !=
        TRK_OK) {
        abort();
    }
    free(packing.bytes);
}

void small_trace_make(struct trace_file *file)
{
    trace_file_start(file, 5);
    trace_file_name(file, 0, "guest");
    trace_file_name(file, 1, "render");
    add_page(file, 0);
    add_page(file, 1);
    add_page(file, 0);
    trace_file_add(file, 0, guest, 4, 0);
    trace_file_add(file, 1, render, 2, 0);
    trace_file_flush(file);
    add_page(file, 1);
    add_page(file, 2);
    trace_file_add(file, 1, render + 2, 5, 0);
    trace_file_flush(file);
    trace_file_add(file, 0, guest + 4, 3, 0);
    trace_file_add(file, 1, render + 7, 4, 0);
    add_checkpoint(file);
    trace_file_add(file, 0, details, SMALL_TRACE_DETAILS, 0);
    if (trk_writer_clocks(file->writer, &small_trace_clocks, NULL) != TRK_OK) {
        abort();
    }
    trace_file_end(file, 0);
}
