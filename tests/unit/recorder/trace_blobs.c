/*
 * Goal: contents of pages come back by their hash, each is once in a file however often it was
 * given, and a file without them, or with damaged ones, says so [F-39].
 * Method: files in memory with pages of a seed, of many chunks, read back in another order; chunks
 * and lists damaged with right checksums; the same after recovery and through the text form.
 */
#define _GNU_SOURCE /* memfd_create */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bytes.h"
#include "crc32c.h"
#include "format.h"
#include "recorder/blobs.h"
#include "recorder/page_hash.h"
#include "recorder/recover.h"
#include "recorder/text.h"
#include "trace_support.h"

#define PAGES 500u /* eight chunks */

static void make_page(uint64_t number, uint8_t page[TRK_BLOB_BYTES])
{
    struct trace_random random = {number};
    for (size_t i = 0; i < TRK_BLOB_BYTES; i++) {
        page[i] = i < 64 ? (uint8_t)trace_random_next(&random) : (uint8_t)number;
    }
}

static uint64_t hash_of(uint64_t number)
{
    uint8_t page[TRK_BLOB_BYTES];
    make_page(number, page);
    return trk_page_hash(page, sizeof page);
}

static void give(struct trace_file *file, uint64_t number)
{
    uint8_t page[TRK_BLOB_BYTES];
    make_page(number, page);
    cr_assert_eq(trk_writer_blob(file->writer, page, NULL), TRK_OK);
}

/* Pages 0 to count - 1, each given twice, and an event. */
static void make_file(struct trace_file *file, uint64_t count)
{
    struct trk_record record = {100, {.type = TRK_EVENT_MARK, .argument = 1}};
    trace_file_start(file, 0);
    trace_file_name(file, 0, "one");
    for (uint64_t i = 0; i < count; i++) {
        give(file, i);
        give(file, i / 2);
    }
    trace_file_add(file, 0, &record, 1, 0);
    cr_expect_eq(trk_writer_blobs(file->writer), count);
    trace_file_end(file, 0);
}

static struct trk_trace *open_bytes(const uint8_t *bytes, size_t size_bytes)
{
    struct trk_trace *trace;
    cr_assert_eq(trk_trace_open_bytes(&trace, bytes, size_bytes, NULL), TRK_OK);
    return trace;
}

/* Whether the trace has exactly the pages 0 to count - 1. */
static void expect_pages(struct trk_trace *trace, uint64_t count)
{
    uint64_t found = 0;
    cr_assert_eq(trk_trace_blob_count(trace, &found, NULL), TRK_OK);
    cr_expect_eq(found, count, "%llu pages", (unsigned long long)found);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t number = i * 37 % count; /* a prime: all of them, in another order */
        uint8_t page[TRK_BLOB_BYTES];
        const void *bytes = NULL;
        make_page(number, page);
        cr_assert_eq(trk_trace_blob(trace, hash_of(number), &bytes, NULL), TRK_OK, "page %llu",
                     (unsigned long long)number);
        cr_assert_arr_eq(bytes, page, sizeof page);
        cr_assert_eq(trk_trace_blob_known(trace, hash_of(number), NULL), TRK_OK);
    }
    const void *bytes = &found;
    cr_expect_eq(trk_trace_blob(trace, hash_of(count), &bytes, NULL), TRK_E_END);
    cr_expect_null(bytes);
    cr_expect_eq(trk_trace_blob_known(trace, hash_of(count), NULL), TRK_E_END);
}

Test(blobs, come_back_by_hash)
{
    static const uint64_t counts[] = {0, 1, 2, 63, 64, 65, PAGES};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        struct trace_file file;
        make_file(&file, counts[i]);
        struct trk_trace *trace = open_bytes(file.bytes, file.size_bytes);
        expect_pages(trace, counts[i]);
        cr_expect(trk_trace_state(trace).complete, "%s", trk_trace_state(trace).damage);
        trk_trace_close(trace);
        trace_file_free(&file);
    }
}

/* From the index alone, and while events are read. */
Test(blobs, quick_and_between_events)
{
    struct trace_file file;
    struct trk_trace_event event;
    make_file(&file, PAGES);
    struct trk_trace *trace = open_bytes(file.bytes, file.size_bytes);
    cr_assert_eq(trk_trace_scan_quick(trace, NULL), TRK_OK);
    cr_expect(trk_trace_state(trace).quick);
    expect_pages(trace, PAGES);
    cr_assert_eq(trk_trace_next(trace, &event, NULL), TRK_OK);
    expect_pages(trace, PAGES);
    cr_expect_eq(trk_trace_next(trace, &event, NULL), TRK_E_END);
    trk_trace_close(trace);
    trace_file_free(&file);
}

/* The offset of the first chunk of a kind. */
static size_t find_chunk(const struct trace_file *file, uint8_t kind)
{
    struct trk_format_chunk chunk = {.kind = 0};
    size_t at = TRK_FORMAT_FILE_BYTES;
    while (trk_format_get_chunk(file->bytes + at, file->bytes + 40, &chunk) && chunk.kind != kind) {
        at += (size_t)trk_format_chunk_span(&chunk);
    }
    cr_assert_eq(chunk.kind, kind);
    return at;
}

/* A list whose checksum is right, and which names another hash. */
Test(blobs, a_wrong_list_is_found)
{
    struct trace_file file;
    make_file(&file, 3);
    uint8_t *frame = file.bytes + find_chunk(&file, TRK_FORMAT_BLOB) + TRK_FORMAT_CHUNK_BYTES;
    size_t size_bytes = TRK_FORMAT_FRAME_PREFIX + 3 * 8 + 4;
    frame[TRK_FORMAT_FRAME_PREFIX] ^= 1;
    (void)trk_bytes_put32(frame + size_bytes - 4, trk_crc32c_update(0, frame, size_bytes - 4));
    struct trk_trace *trace = open_bytes(file.bytes, file.size_bytes);
    uint64_t count;
    cr_assert_eq(trk_trace_blob_count(trace, &count, NULL), TRK_OK);
    cr_expect_eq(count, 0);
    struct trk_trace_state state = trk_trace_state(trace);
    cr_expect_not(state.complete);
    cr_expect_eq(state.damaged_chunks, 1);
    cr_expect(strstr(state.damage, "not those that it lists"), "%s", state.damage);
    trk_trace_close(trace);
    /* Who has not read the pages yet believes the list, but never the page. */
    trace = open_bytes(file.bytes, file.size_bytes);
    const void *bytes;
    struct trk_error error = {.file_offset = 0};
    cr_assert_eq(trk_trace_scan_quick(trace, NULL), TRK_OK);
    cr_expect_eq(trk_trace_blob(trace, hash_of(0) ^ 1, &bytes, &error), TRK_E_DAMAGED);
    cr_expect_eq(error.file_offset, find_chunk(&file, TRK_FORMAT_BLOB));
    cr_expect_eq(trk_trace_blob(trace, hash_of(1), &bytes, NULL), TRK_OK);
    trk_trace_close(trace);
    trace_file_free(&file);
}

/* A list that is damaged is damage; the pages say by themselves what they are. */
Test(blobs, a_damaged_list_costs_no_page)
{
    struct trace_file file;
    make_file(&file, 3);
    file.bytes[find_chunk(&file, TRK_FORMAT_BLOB) + TRK_FORMAT_CHUNK_BYTES + 9] ^= 4;
    for (int quick = 0; quick < 2; quick++) {
        struct trk_trace *trace = open_bytes(file.bytes, file.size_bytes);
        cr_assert_eq(quick ? trk_trace_scan_quick(trace, NULL) : trk_trace_scan(trace, NULL),
                     TRK_OK);
        expect_pages(trace, 3);
        cr_expect(quick || trk_trace_state(trace).damaged_chunks == 1);
        trk_trace_close(trace);
    }
    int fd = memfd_create("recovered", MFD_CLOEXEC);
    struct trk_recover_result result;
    cr_assert_eq(trk_recover_bytes(file.bytes, file.size_bytes, fd, &result, NULL), TRK_OK);
    struct trk_trace *trace;
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    cr_assert_eq(trk_trace_open(&trace, path, NULL), TRK_OK);
    expect_pages(trace, 3);
    cr_expect(trk_trace_state(trace).complete, "%s", trk_trace_state(trace).damage);
    trk_trace_close(trace);
    close(fd);
    trace_file_free(&file);
}

/* trk dump --text and trk assemble: the same bytes. */
Test(blobs, text_and_back)
{
    struct trace_file file;
    make_file(&file, 70);
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file.fd);
    char *text = NULL;
    size_t text_bytes = 0;
    FILE *out = open_memstream(&text, &text_bytes);
    struct trk_text_result printed;
    cr_assert_eq(trk_text_print(path, out, &printed, NULL), TRK_OK);
    fclose(out);
    int fd = memfd_create("assembled", MFD_CLOEXEC);
    struct trk_assemble *assemble;
    struct trk_digest digest;
    bool ended;
    cr_assert_eq(trk_assemble_create(&assemble, fd), TRK_OK);
    for (char *line = text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        *end = '\0';
        struct trk_error error;
        cr_assert_eq(trk_assemble_line(assemble, line, &error), TRK_OK, "%s", error.text);
    }
    cr_assert_eq(trk_assemble_finish(assemble, &digest, &ended, NULL), TRK_OK);
    trk_assemble_destroy(assemble);
    uint8_t *copy = malloc(file.size_bytes);
    cr_assert_eq(pread(fd, copy, file.size_bytes, 0), (ssize_t)file.size_bytes);
    cr_expect_arr_eq(copy, file.bytes, file.size_bytes);
    free(copy);
    free(text);
    close(fd);
    trace_file_free(&file);
}
