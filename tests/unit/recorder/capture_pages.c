/*
 * Goal: contents of pages that a thread hands over are in the file once, whatever the thread hands
 * over twice; a page that finds no slot is counted and keeps its hash; with a book a slot is given
 * back only when its page is in the file; broken states of slots do nothing.
 *
 * Method: the program's side and the drain in one process, on a session of the test's own; the file
 * is read back.
 */
#define _GNU_SOURCE /* memfd_create */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "capture_emit.h"
#include "record_book.h"
#include "record_pages.h"
#include "recorder/blobs.h"
#include "recorder/page_hash.h"

static struct trk_record_session session;
static struct trk_record_drain drain;
static struct trk_writer *writer;
static struct trk_error error;
static char file_path[32];
static int file;

static void begin(void)
{
    file = memfd_create("trace", 0);
    snprintf(file_path, sizeof(file_path), "/proc/self/fd/%d", file);
    cr_assert_eq(trk_record_session_init(&session, 128, TRK_PAYLOAD_PAGES, &error), TRK_OK);
    struct trk_writer_options options = trk_writer_options_default();
    cr_assert_eq(trk_writer_create(&writer, file, &options, "{}", &error), TRK_OK);
    cr_assert_eq(trk_record_drain_init(&drain, &session, writer, &error), TRK_OK);
    drain.keeps_pages = true;
}

static void end(void)
{
    trk_record_drain_deinit(&drain);
    trk_record_session_deinit(&session);
    close(file);
}

TestSuite(capture_pages, .init = begin, .fini = end);

static void make_page(uint64_t number, uint64_t page[TRK_BLOB_BYTES / 8])
{
    for (uint64_t i = 0; i < TRK_BLOB_BYTES / 8; ++i)
        page[i] = number << 32 | i / 64;
}

static uint64_t keep(uint64_t number)
{
    uint64_t page[TRK_BLOB_BYTES / 8];
    make_page(number, page);
    uint64_t hash = trk_capture_keep_page(session.control, session.pages, page);
    cr_assert_eq(hash, trk_page_hash(page, sizeof(page)));
    return hash;
}

static uint32_t slots_in(uint32_t state)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < TRK_SESSION_PAGE_SLOTS; ++i)
        count += atomic_load(&session.pages->states[i]) == state;
    return count;
}

static void pass(void)
{
    uint64_t fullest = 0;
    cr_assert_eq(trk_record_drain_pass(&drain, &fullest, &error), TRK_OK, "%s", error.text);
}

/* The file has exactly the pages from 0 on, as many as count says. */
static void expect_file(uint64_t count)
{
    struct trk_trace *trace;
    uint64_t found;
    cr_assert_eq(trk_record_drain_finish(&drain, &error), TRK_OK, "%s", error.text);
    cr_assert_eq(trk_writer_end(writer, 0, &error), TRK_OK, "%s", error.text);
    cr_assert_eq(trk_trace_open(&trace, file_path, &error), TRK_OK, "%s", error.text);
    cr_assert_eq(trk_trace_blob_count(trace, &found, &error), TRK_OK, "%s", error.text);
    cr_expect_eq(found, count, "%d contents", (int)found);
    for (uint64_t number = 0; number < count; ++number) {
        uint64_t page[TRK_BLOB_BYTES / 8];
        const void *bytes;
        make_page(number, page);
        cr_assert_eq(trk_trace_blob(trace, trk_page_hash(page, sizeof(page)), &bytes, &error),
                     TRK_OK, "page %d", (int)number);
        cr_expect_arr_eq(bytes, page, sizeof(page));
    }
    trk_trace_close(trace);
}

Test(capture_pages, each_content_is_kept_once)
{
    for (uint64_t round = 0; round < 3; ++round) {
        for (uint64_t number = 0; number < 100; ++number)
            keep(number);
        cr_expect_eq(slots_in(TRK_PAGE_SLOT_FULL), round == 0 ? 100 : 0, "round %d", (int)round);
        pass();
        cr_expect_eq(slots_in(TRK_PAGE_SLOT_FREE), TRK_SESSION_PAGE_SLOTS);
    }
    /* The program forgets what it sent; the file does not. */
    for (uint32_t i = 0; i < TRK_SESSION_PAGE_SEEN; ++i)
        atomic_store(&session.pages->seen[i], 0);
    for (uint64_t number = 0; number < 120; ++number)
        keep(number);
    cr_expect_eq(atomic_load(&session.control->pages_missed), 0);
    expect_file(120);
}

Test(capture_pages, without_room_it_is_counted)
{
    uint64_t given = TRK_SESSION_PAGE_SLOTS + 50;
    for (uint64_t number = 0; number < given; ++number)
        keep(number);
    cr_expect_eq(slots_in(TRK_PAGE_SLOT_FULL), TRK_SESSION_PAGE_SLOTS);
    cr_expect_eq(atomic_load(&session.control->pages_missed), 50);
    uint64_t fullest = 0;
    cr_assert_eq(trk_record_drain_pass(&drain, &fullest, &error), TRK_OK);
    cr_expect(drain.scarce, "the next pass should come soon");
    /* What was missed is no content that was sent. */
    for (uint64_t number = TRK_SESSION_PAGE_SLOTS; number < given; ++number)
        keep(number);
    expect_file(given);
}

Test(capture_pages, a_book_keeps_slots_until_the_file_has_them)
{
    static struct trk_record_book book;
    drain.book = &book;
    for (uint64_t number = 0; number < 10; ++number)
        keep(number);
    pass();
    pass();
    cr_expect_eq(slots_in(TRK_PAGE_SLOT_FULL), 10, "not in the file yet");
    cr_expect_eq(trk_writer_blobs(writer), 10);
    cr_assert_eq(trk_record_drain_flush(&drain, &error), TRK_OK);
    cr_expect_eq(slots_in(TRK_PAGE_SLOT_FREE), TRK_SESSION_PAGE_SLOTS);
    expect_file(10);
}

/* A thread that died while it filled a slot, and bytes that are no state. */
Test(capture_pages, broken_slots_are_left_alone)
{
    for (uint64_t number = 0; number < 5; ++number)
        keep(number);
    for (uint32_t i = 5; i < TRK_SESSION_PAGE_SLOTS; ++i)
        atomic_store(&session.pages->states[i], i % 2 ? TRK_PAGE_SLOT_FILLING : 77u);
    expect_file(5);
}
