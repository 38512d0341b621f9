/*
 * Goal: paranoid mode tells every change of a clean page's bytes once, with the page and the
 * moment, and nothing that the tracker knew of.
 *
 * Method: a tracker on the simulated backend; the pages' bytes are an array that the test changes
 * with or without a word to the tracker. A table of steps, each with the findings it must bring.
 */
#include "track/paranoid.h"

#include <string.h>

#include <criterion/criterion.h>

#include "track/address.h"

#define FIRST UINT64_C(0x200000000)
#define PAGES 8u

static unsigned char memory[PAGES][TRK_HOST_PAGE_BYTES];
static struct trk_paranoid *paranoid;
static struct trk_tracker *tracker;
static struct trk_backend *backend;
static uint64_t findings;
static struct trk_paranoid_finding last;
static uint64_t seen_events;

static const void *bytes(void *context, uint64_t page_addr)
{
    (void)context;
    uint64_t page = (page_addr - FIRST) / TRK_HOST_PAGE_BYTES;
    return page < PAGES ? memory[page] : NULL;
}

static void on_finding(void *context, const struct trk_paranoid_finding *finding)
{
    (void)context;
    findings++;
    last = *finding;
}

static void count_event(void *context, const struct trk_event *event)
{
    (void)context;
    (void)event;
    seen_events++;
}

static void start(uint32_t one_in)
{
    struct trk_error error;
    memset(memory, 0, sizeof memory);
    findings = seen_events = 0;
    struct trk_paranoid_options options = {
        .size = sizeof options,
        .one_in = one_in,
        .observer = {.emit = count_event},
        .bytes = bytes,
        .finding = on_finding,
    };
    cr_assert_eq(trk_paranoid_create(&paranoid, &options, &error), TRK_OK, "%s", error.text);
    cr_assert_eq(trk_backend_simulated_create(&backend, &error), TRK_OK);
    struct trk_tracker_options of_tracker = trk_tracker_options_default();
    of_tracker.backend = backend;
    of_tracker.observer = trk_paranoid_observer(paranoid);
    cr_assert_eq(trk_tracker_create(&tracker, &of_tracker, &error), TRK_OK);
    trk_paranoid_watch(paranoid, tracker);
    cr_assert_eq(trk_tracker_register(tracker, FIRST, PAGES * TRK_HOST_PAGE_BYTES), TRK_OK);
}

static void stop(void)
{
    cr_assert_eq(trk_tracker_untrack(tracker, FIRST, PAGES * TRK_HOST_PAGE_BYTES), TRK_OK);
    cr_assert_eq(trk_tracker_unregister(tracker, FIRST, PAGES * TRK_HOST_PAGE_BYTES), TRK_OK);
    trk_tracker_destroy(tracker);
    trk_paranoid_destroy(paranoid);
    trk_backend_destroy(backend);
}

static void upload(void)
{
    struct trk_transfer transfer = {
        .size = sizeof transfer, .guest_addr = FIRST, .size_bytes = PAGES * TRK_HOST_PAGE_BYTES};
    cr_assert_eq(trk_tracker_upload(tracker, &transfer), TRK_OK);
}

static uint64_t page_addr(uint32_t page)
{
    return FIRST + page * TRK_HOST_PAGE_BYTES;
}

/* The guest's mprotect of the page, there and back. */
static void change_rights(void)
{
    cr_assert_eq(trk_tracker_set_guest_protection(tracker, page_addr(3), 1, TRK_RIGHT_READ),
                 TRK_OK);
    cr_assert_eq(trk_tracker_set_guest_protection(tracker, page_addr(3), 1, TRK_RIGHTS_RW), TRK_OK);
}

static void store_silently(void *context)
{
    (void)context;
    memory[3][1234]++;
}

/* An upload in whose completion somebody stores. */
static void upload_beside(void)
{
    struct trk_transfer transfer = {.size = sizeof transfer,
                                    .guest_addr = FIRST,
                                    .size_bytes = PAGES * TRK_HOST_PAGE_BYTES,
                                    .completion = store_silently};
    cr_assert_eq(trk_tracker_upload(tracker, &transfer), TRK_OK);
}

enum step { UPLOAD, SILENT, TOLD, FAULTED, DRAW, FRAME, TO_GPU, RIGHTS, BESIDE };

static const struct {
    const char *name;
    enum step steps[6];
    size_t count;
    uint64_t findings;
    enum trk_paranoid_moment moment;
} cases[] = {
    {"nothing happens", {UPLOAD, DRAW, FRAME, UPLOAD}, 4, 0, 0},
    {"silent, seen at a draw", {UPLOAD, SILENT, DRAW}, 3, 1, TRK_PARANOID_DRAW},
    {"silent, seen at a frame's end", {UPLOAD, SILENT, FRAME}, 3, 1, TRK_PARANOID_FRAME},
    {"silent, seen at an upload", {UPLOAD, SILENT, UPLOAD}, 3, 1, TRK_PARANOID_UPLOAD},
    {"told once", {UPLOAD, SILENT, DRAW, DRAW, FRAME}, 5, 1, TRK_PARANOID_DRAW},
    {"silent twice", {UPLOAD, SILENT, DRAW, SILENT, FRAME}, 5, 2, TRK_PARANOID_FRAME},
    {"told to the tracker", {UPLOAD, TOLD, DRAW, FRAME, UPLOAD}, 5, 0, 0},
    {"a fault first", {UPLOAD, FAULTED, DRAW, UPLOAD, FRAME}, 5, 0, 0},
    {"silent before any upload", {SILENT, UPLOAD, FRAME}, 3, 0, 0},
    {"told and silent", {UPLOAD, TOLD, SILENT, FRAME}, 4, 0, 0}, /* it is dirty: no harm */
    {"after its rights", {UPLOAD, RIGHTS, SILENT, FRAME}, 4, 1, TRK_PARANOID_FRAME},
    {"before its rights", {UPLOAD, SILENT, RIGHTS, FRAME}, 4, 1, TRK_PARANOID_PROTECT},
    {"rights and no store", {UPLOAD, RIGHTS, DRAW, FRAME, UPLOAD}, 5, 0, 0},
    {"told after its rights", {UPLOAD, RIGHTS, TOLD, FRAME, UPLOAD}, 5, 0, 0},
    {"beside a completion", {BESIDE, FRAME, DRAW}, 3, 1, TRK_PARANOID_UPLOAD},
    {"learned behind one", {UPLOAD, BESIDE, SILENT, FRAME}, 4, 2, TRK_PARANOID_FRAME},
    {"the GPU's page", {UPLOAD, TO_GPU, SILENT, FRAME, DRAW}, 5, 0, 0},
};

Test(paranoid, tells_silent_stores_once_and_nothing_else)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        start(1);
        for (size_t s = 0; s < cases[i].count; s++) {
            enum trk_fault_outcome outcome;
            switch (cases[i].steps[s]) {
            case UPLOAD:
                upload();
                break;
            case SILENT:
                memory[3][1234]++;
                break;
            case TOLD:
                cr_assert_eq(trk_tracker_mark_cpu(tracker, page_addr(3), 1), TRK_OK);
                memory[3][77]++;
                break;
            case FAULTED:
                outcome = trk_tracker_fault(tracker, page_addr(3) + 9, TRK_ACCESS_WRITE);
                cr_assert_eq(outcome, TRK_FAULT_SERVED);
                memory[3][9]++;
                break;
            case RIGHTS:
                change_rights();
                break;
            case BESIDE:
                upload_beside();
                break;
            case DRAW:
                trk_paranoid_draw(paranoid, FIRST, PAGES * TRK_HOST_PAGE_BYTES);
                break;
            case FRAME:
                trk_paranoid_frame(paranoid);
                break;
            case TO_GPU:
                cr_assert_eq(trk_tracker_mark_gpu(tracker, page_addr(3), 1), TRK_OK);
                break;
            }
        }
        cr_assert_eq(findings, cases[i].findings, "%s: %llu findings", cases[i].name,
                     (unsigned long long)findings);
        if (findings > 0) {
            cr_assert_eq(last.guest_addr, page_addr(3), "%s", cases[i].name);
            cr_assert_eq(last.moment, cases[i].moment, "%s", cases[i].name);
            cr_assert_neq(last.known_hash, last.seen_hash);
        }
        cr_assert_eq(trk_paranoid_counts(paranoid).findings, findings);
        cr_assert_gt(seen_events, 0, "the observer behind it gets the events");
        cr_assert_eq(trk_tracker_unmark_gpu(tracker, FIRST, PAGES * TRK_HOST_PAGE_BYTES), TRK_OK);
        stop();
    }
}

static void upload_page(uint32_t page)
{
    struct trk_transfer transfer = {
        .size = sizeof transfer, .guest_addr = page_addr(page), .size_bytes = 1};
    cr_assert_eq(trk_tracker_upload(tracker, &transfer), TRK_OK);
}

static void set_layer(trk_flush_fn *flush, trk_flush_fn *read_back)
{
    struct trk_resource_layer layer = {.flush = flush, .read_back = read_back};
    cr_assert_eq(trk_tracker_set_resource_layer(tracker, &layer), TRK_OK);
}

static void bring_home(uint64_t guest_addr)
{
    cr_assert_eq(trk_tracker_unmark_gpu(tracker, guest_addr, 1), TRK_OK);
}

/* Brings page 0 home; meanwhile page 3 is uploaded and stored to unseen, as other threads would. */
static void flush_beside(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    (void)context;
    (void)size_bytes;
    upload_page(3);
    memory[3][1234]++;
    trk_paranoid_frame(paranoid);
    bring_home(guest_addr);
}

/* An operation about another page hides nothing: in the midst of it a page is learned, and held. */
Test(paranoid, a_fault_elsewhere_hides_no_store)
{
    start(1);
    set_layer(flush_beside, NULL);
    upload_page(0);
    cr_assert_eq(trk_tracker_mark_gpu(tracker, page_addr(0), 1), TRK_OK);
    cr_assert_eq(trk_tracker_fault(tracker, page_addr(0), TRK_ACCESS_WRITE), TRK_FAULT_SERVED);
    cr_assert_eq(findings, 1u);
    cr_assert_eq(last.guest_addr, page_addr(3));
    cr_assert_eq(last.moment, TRK_PARANOID_FRAME);
    trk_paranoid_frame(paranoid);
    cr_assert_eq(findings, 1u);
    stop();
}

/* The page is clean before its bytes have come. */
static void fill_late(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    (void)context;
    (void)size_bytes;
    bring_home(guest_addr);
    trk_paranoid_frame(paranoid);
    memory[3][1234]++;
}

/* A page that an operation is about is not learned before that ends, though it is clean. */
Test(paranoid, nothing_is_learned_of_a_page_that_is_being_filled)
{
    start(1);
    set_layer(NULL, fill_late);
    upload();
    cr_assert_eq(trk_tracker_mark_gpu(tracker, page_addr(3), 1), TRK_OK);
    cr_assert_eq(trk_tracker_fault(tracker, page_addr(3), TRK_ACCESS_READ), TRK_FAULT_SERVED);
    trk_paranoid_frame(paranoid);
    cr_assert_eq(findings, 0u);
    memory[3][1234]++; /* and is learned behind it */
    trk_paranoid_frame(paranoid);
    cr_assert_eq(findings, 1u);
    stop();
}

/* Every bit of a page counts, and each page of a sample has its turn. */
Test(paranoid, sees_every_byte_and_looks_at_every_page_in_turn)
{
    start(1);
    upload();
    for (uint32_t at = 0; at < TRK_HOST_PAGE_BYTES; at++) {
        uint64_t before = findings;
        memory[0][at] ^= (unsigned char)(1u << at % 8);
        trk_paranoid_draw(paranoid, FIRST, 1);
        cr_assert_eq(findings, before + 1, "byte %u", at);
    }
    stop();
    start(4);
    upload();
    for (int frame = 0; frame < 4; frame++) /* learned, one in four each time */
        trk_paranoid_frame(paranoid);
    for (uint32_t page = 0; page < PAGES; page++)
        memory[page][0]++;
    for (int frame = 0; frame < 4; frame++) {
        cr_assert_eq(findings, (uint64_t)frame * PAGES / 4);
        trk_paranoid_frame(paranoid);
    }
    cr_assert_eq(findings, PAGES);
    stop();
}

Test(paranoid, refuses_unusable_options)
{
    struct trk_paranoid *none = NULL;
    struct trk_paranoid_options good = {
        .size = sizeof good, .one_in = 1, .bytes = bytes, .finding = on_finding};
    struct trk_paranoid_options bad[4] = {good, good, good, good};
    bad[0].size = 1;
    bad[1].one_in = 0;
    bad[2].bytes = NULL;
    bad[3].finding = NULL;
    for (size_t i = 0; i < 4; i++)
        cr_assert_eq(trk_paranoid_create(&none, &bad[i], NULL), TRK_E_ARGUMENT, "%zu", i);
    cr_assert_eq(trk_paranoid_create(&none, NULL, NULL), TRK_E_ARGUMENT);
    trk_paranoid_destroy(none);
}
