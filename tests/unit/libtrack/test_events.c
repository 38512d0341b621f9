/*
 * Goal: the exact events of each kind of operation, in order, as track/event.h lays them out: this
 * is what traces hold and what re-execution compares.
 * Method: one operation a case on a prepared tracker; its events as text against a written text.
 */
#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "track/image.h"
#include "track/pages.h"

#define BASE UINT64_C(0x200000000) /* region 2048 */
#define PAGE TRK_HOST_PAGE_BYTES
#define EDGE (BASE + TRK_REGION_BYTES)

static struct {
    struct trk_backend *backend;
    struct trk_tracker *tracker;
    char text[4096];
    size_t used;
    bool takes_layer; /* with each CALLBACK */
    void *given;      /* the context of a read-back */
} world;

static void say(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int used =
        vsnprintf(world.text + world.used, sizeof world.text - world.used, format, arguments);
    va_end(arguments);
    world.used += (size_t)used;
    cr_assert_lt(world.used, sizeof world.text);
}

static const char *rights_text(unsigned flags)
{
    static const char *const texts[] = {"none", "r", "w", "rw", "x", "rx", "wx", "rwx"};
    return texts[flags & 7u];
}

/* "R0#3" is hold 3 of the first region's lock, "P1#2" hold 2 of the second's page manager. */
static void say_domain(const struct trk_event *event)
{
    enum trk_domain_class domain_class = trk_domain_class(event->domain);
    uint32_t region = trk_domain_region(event->domain);
    cr_expect_eq(trk_domain_tracker(event->domain), 5);
    if ((int)domain_class == 0)
        say("-");
    else
        say("%c%u#%u", domain_class == TRK_DOMAIN_REGION ? 'R' : 'P', region - 2048, event->seq);
}

static void on_event(void *context, const struct trk_event *event)
{
    (void)context;
    if (world.takes_layer && event->type == TRK_EVENT_CALLBACK)
        trk_image_put_layer(world.tracker, &(struct trk_resource_layer){0});
    say("%s", trk_event_type_name(event->type));
    switch (event->type) {
    case TRK_EVENT_OP_BEGIN:
        say(" %s %llx+%llx f%x r%x t%u", trk_op_name(event->context),
            (unsigned long long)(event->argument - BASE), (unsigned long long)trk_event_size(event),
            event->flags, event->pages, event->page);
        break;
    case TRK_EVENT_LOCK:
        say(" ");
        say_domain(event);
        break;
    case TRK_EVENT_UNLOCK:
    case TRK_EVENT_WATCH:
        say(" ");
        say_domain(event);
        say(" %u", event->pages);
        break;
    case TRK_EVENT_RANGE:
        say(" ");
        say_domain(event);
        say(" %u+%u", event->page, event->pages);
        break;
    case TRK_EVENT_PROTECT:
        say(" ");
        say_domain(event);
        say(" %u+%u:%s%s%s", event->page, event->pages, rights_text(event->flags),
            event->flags & TRK_EVENT_FAILED ? " failed" : "",
            event->flags & TRK_EVENT_HOLD_END ? " end" : "");
        break;
    case TRK_EVENT_CALLBACK:
        say(" %u", event->context);
        break;
    case TRK_EVENT_OP_END:
        say(" %s %s %llu", trk_op_name(event->context), trk_status_name(event->flags),
            (unsigned long long)event->argument);
        break;
    case TRK_EVENT_FAULT:
        say(" %llx a%u look%u p%u ", (unsigned long long)(event->argument - BASE), event->flags,
            event->context, event->page);
        say_domain(event);
        break;
    case TRK_EVENT_FAIL:
        say(" %s %s %llx+%llx", trk_op_name(event->flags), trk_status_name(event->context),
            (unsigned long long)(event->argument - BASE),
            (unsigned long long)trk_event_size(event));
        break;
    case TRK_EVENT_MASK:
        say(" %u:%llx", event->page, (unsigned long long)event->argument);
        break;
    default:
        break;
    }
    say("\n");
}

static void on_failure(void *context, const struct trk_failure *failure)
{
    (void)context;
    (void)failure;
}

static struct trk_transfer transfer(uint64_t guest_addr, uint64_t size_bytes)
{
    return (struct trk_transfer){
        .size = sizeof(struct trk_transfer), .guest_addr = guest_addr, .size_bytes = size_bytes};
}

static void upload(uint64_t guest_addr, uint64_t size_bytes, bool written)
{
    struct trk_transfer request = transfer(guest_addr, size_bytes);
    request.written = written;
    (void)!trk_tracker_upload(world.tracker, &request);
}

static void drain_all(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    struct trk_transfer request = transfer(guest_addr, size_bytes);
    (void)context;
    (void)!trk_tracker_drain(world.tracker, &request);
}

static void clear_all(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    struct trk_transfer request = transfer(guest_addr, size_bytes);
    (void)context;
    request.clear = true;
    (void)!trk_tracker_download(world.tracker, &request);
}

static void open_world(void)
{
    struct trk_tracker_options options = trk_tracker_options_default();
    cr_assert_eq(trk_backend_simulated_create(&world.backend, NULL), TRK_OK);
    options.backend = world.backend;
    options.observer.emit = on_event;
    options.failure = on_failure;
    options.id = 5;
    cr_assert_eq(trk_tracker_create(&world.tracker, &options, NULL), TRK_OK);
    world.used = 0;
    world.text[0] = '\0';
}

static void close_world(void)
{
    trk_tracker_destroy(world.tracker);
    trk_backend_destroy(world.backend);
}

TestSuite(events, .init = open_world, .fini = close_world);

/* Compare what has been emitted since the last comparison. */
static void expect(const char *name, const char *text)
{
    cr_expect_str_eq(world.text, text, "%s:\n%s", name, world.text);
    world.used = 0;
    world.text[0] = '\0';
}

static void forget(void)
{
    world.used = 0;
    world.text[0] = '\0';
}

Test(events, queries)
{
    bool value;
    (void)!trk_tracker_is_gpu(world.tracker, BASE, PAGE, &value);
    expect("is_gpu creates nothing", "op_begin is_gpu 0+1000 f0 r0 t5\n"
                                     "op_end is_gpu ok 0\n");
    (void)!trk_tracker_is_cpu(world.tracker, BASE + 1, 2, &value);
    expect("is_cpu creates and locks", "op_begin is_cpu 1+2 f0 r0 t5\n"
                                       "lock R0#1\n"
                                       "unlock R0#1 0\n"
                                       "op_end is_cpu ok 1\n");
}

Test(events, upload)
{
    upload(BASE + PAGE, 2 * PAGE, false);
    expect("not written: protect before range, completion with no lock",
           "op_begin upload 1000+2000 f0 r0 t5\n"
           "lock R0#1\n"
           "protect P0#1 1+2:r end\n"
           "range R0#1 1+2\n"
           "unlock R0#1 2\n"
           "callback 1\n"
           "op_end upload ok 1\n");
    upload(BASE + PAGE, 2 * PAGE, false);
    expect("nothing to do", "op_begin upload 1000+2000 f0 r0 t5\n"
                            "lock R0#2\n"
                            "unlock R0#2 0\n"
                            "callback 1\n"
                            "op_end upload ok 0\n");
}

Test(events, upload_written)
{
    upload(EDGE - PAGE, 2 * PAGE, true);
    expect("over an edge: all locks, ascending, kept over the completion",
           "op_begin upload 3ff000+2000 f1 r0 t5\n"
           "lock R0#1\n"
           "lock R1#1\n"
           "protect P0#1 1023+1:r end\n"
           "range R0#1 1023+1\n"
           "protect P1#1 0+1:r end\n"
           "range R1#1 0+1\n"
           "callback 1\n"
           "protect P0#2 1023+1:none end\n"
           "protect P1#2 0+1:none end\n"
           "unlock R0#1 2\n"
           "unlock R1#1 2\n"
           "op_end upload ok 2\n");
}

Test(events, downloads)
{
    upload(BASE, 2 * PAGE, true);
    forget();
    struct trk_transfer request = transfer(BASE, 4 * PAGE);
    (void)!trk_tracker_download(world.tracker, &request);
    expect("download", "op_begin download 0+4000 f0 r0 t5\n"
                       "lock R0#2\n"
                       "range R0#2 0+2\n"
                       "unlock R0#2 0\n"
                       "op_end download ok 1\n");
    request.size_bytes = PAGE;
    request.clear = true;
    (void)!trk_tracker_download(world.tracker, &request);
    expect("clearing: range before protect", "op_begin download 0+1000 f2 r0 t5\n"
                                             "lock R0#3\n"
                                             "range R0#3 0+1\n"
                                             "protect P0#3 0+1:r end\n"
                                             "unlock R0#3 1\n"
                                             "op_end download ok 1\n");
    drain_all(NULL, BASE, 4 * PAGE);
    expect("drain: one call to rw", "op_begin drain 0+4000 f0 r0 t5\n"
                                    "lock R0#4\n"
                                    "range R0#4 1+1\n"
                                    "protect P0#4 1+1:rw end\n"
                                    "unlock R0#4 1\n"
                                    "op_end drain ok 1\n");
}

Test(events, invalidate)
{
    upload(BASE, PAGE, true);
    forget();
    (void)!trk_tracker_invalidate(world.tracker, BASE, 1, drain_all, NULL);
    expect("a flush with no lock held, then the second look", "op_begin invalidate 0+1 f8 r0 t5\n"
                                                              "lock R0#2\n"
                                                              "unlock R0#2 0\n"
                                                              "callback 2\n"
                                                              "op_begin drain 0+1000 f0 r0 t5\n"
                                                              "lock R0#3\n"
                                                              "range R0#3 0+1\n"
                                                              "protect P0#3 0+1:rw end\n"
                                                              "unlock R0#3 1\n"
                                                              "op_end drain ok 1\n"
                                                              "lock R0#4\n"
                                                              "unlock R0#4 0\n"
                                                              "op_end invalidate ok 1\n");
    upload(BASE, PAGE, true);
    forget();
    (void)!trk_tracker_invalidate(world.tracker, BASE, 1, NULL, NULL);
    expect("no flush: retained", "op_begin invalidate 0+1 f0 r0 t5\n"
                                 "lock R0#6\n"
                                 "unlock R0#6 0\n"
                                 "callback 2\n"
                                 "lock R0#7\n"
                                 "unlock R0#7 0\n"
                                 "fail invalidate retained 0+1\n"
                                 "op_end invalidate retained 1\n");
}

Test(events, failures)
{
    (void)!trk_tracker_mark_gpu(world.tracker, BASE, PAGE);
    expect("conflict: told with no lock held", "op_begin mark_gpu 0+1000 f0 r0 t5\n"
                                               "lock R0#1\n"
                                               "unlock R0#1 0\n"
                                               "fail mark_gpu conflict 0+1000\n"
                                               "op_end mark_gpu conflict 0\n");
    (void)!trk_tracker_mark_cpu(world.tracker, BASE, 0);
    expect("range: no lock at all", "op_begin mark_cpu 0+0 f0 r0 t5\n"
                                    "fail mark_cpu range 0+0\n"
                                    "op_end mark_cpu range 0\n");
    upload(BASE + PAGE, PAGE, true);
    forget();
    trk_backend_simulated_fail(world.backend, 2);
    upload(BASE, 3 * PAGE, false);
    expect("a refused call and the way back, in one hold", "op_begin upload 0+3000 f0 r0 t5\n"
                                                           "lock R0#3\n"
                                                           "protect P0#3 0+1:r\n"
                                                           "protect P0#3 2+1:r failed\n"
                                                           "protect P0#3 0+1:rw end\n"
                                                           "unlock R0#3 0\n"
                                                           "fail upload protect 0+3000\n"
                                                           "op_end upload protect 0\n");
}

Test(events, page_manager)
{
    uint64_t mask[TRK_REGION_WORDS] = {[0] = 5, [15] = UINT64_C(1) << 63};
    (void)!trk_pages_watch(world.tracker, BASE, 2 * PAGE);
    expect("watch", "op_begin watch 0+2000 f0 r0 t5\n"
                    "protect P0#1 0+2:r end\n"
                    "op_end watch ok 0\n");
    (void)!trk_pages_watch(world.tracker, BASE + PAGE, 1);
    expect("no host call", "op_begin watch 1000+1 f0 r0 t5\n"
                           "watch P0#2 1\n"
                           "op_end watch ok 0\n");
    (void)!trk_pages_watch_mask(world.tracker, BASE, mask, true);
    expect("masks come before, only words that are not zero", "mask 0:5\n"
                                                              "mask 15:8000000000000000\n"
                                                              "op_begin watch_mask 0+1 f4 r0 t5\n"
                                                              "protect P0#3 0+1:none\n"
                                                              "protect P0#3 2+1:none\n"
                                                              "protect P0#3 1023+1:none end\n"
                                                              "op_end watch_mask ok 0\n");
    (void)!trk_tracker_set_guest_protection(world.tracker, BASE, 4 * PAGE,
                                            TRK_RIGHT_READ | TRK_RIGHT_EXEC);
    expect("rights", "op_begin guest_protect 0+4000 f0 r5 t5\n"
                     "protect P0#4 1+1:rx\n"
                     "protect P0#4 3+1:rx end\n"
                     "op_end guest_protect ok 0\n");
}

static void note_context(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    (void)guest_addr;
    (void)size_bytes;
    world.given = context;
}

/* Re-execution lets other threads run at each event; where some are missing they may do so. */
Test(events, layer_that_goes_while_it_is_told_of_is_called_as_it_was)
{
    static const enum trk_access accesses[] = {TRK_ACCESS_READ, TRK_ACCESS_WRITE};
    for (size_t i = 0; i < 2; i++) {
        int mine;
        struct trk_resource_layer layer = {note_context, note_context, &mine};
        (void)!trk_tracker_set_resource_layer(world.tracker, &layer);
        (void)!trk_tracker_register(world.tracker, BASE, PAGE);
        upload(BASE, PAGE, true);
        world.takes_layer = true;
        world.given = NULL;
        (void)trk_tracker_fault(world.tracker, BASE + 8, accesses[i]);
        world.takes_layer = false;
        cr_expect_eq(world.given, &mine, "access %zu", i);
    }
}

Test(events, faults)
{
    (void)trk_tracker_fault(world.tracker, BASE + 0x1234, TRK_ACCESS_WRITE);
    expect("no region", "fault 1234 a1 look3 p1 -\n"
                        "op_end fault ok 0\n");
    struct trk_resource_layer layer = {.flush = drain_all, .read_back = clear_all};
    (void)!trk_tracker_set_resource_layer(world.tracker, &layer);
    expect("layer; its range is a formality",
           "op_begin resource_layer fffffffe00001000+1000 f18 r0 t5\n"
           "op_end resource_layer ok 0\n");
    (void)!trk_tracker_register(world.tracker, BASE, PAGE);
    upload(BASE, PAGE, true);
    forget();
    (void)trk_tracker_fault(world.tracker, BASE + 8, TRK_ACCESS_READ);
    expect("read back", "fault 8 a0 look0 p0 P0#3\n"
                        "lock R0#3\n"
                        "unlock R0#3 0\n"
                        "callback 3\n"
                        "op_begin download 0+1000 f2 r0 t5\n"
                        "lock R0#4\n"
                        "range R0#4 0+1\n"
                        "protect P0#4 0+1:r end\n"
                        "unlock R0#4 1\n"
                        "op_end download ok 1\n"
                        "op_end fault ok 1\n");
    (void)trk_tracker_fault(world.tracker, BASE + 8, TRK_ACCESS_WRITE);
    expect("invalidate", "fault 8 a1 look0 p0 P0#5\n"
                         "lock R0#5\n"
                         "protect P0#6 0+1:rw end\n"
                         "unlock R0#5 1\n"
                         "op_end fault ok 1\n");
    (void)trk_tracker_fault(world.tracker, BASE + 8, TRK_ACCESS_WRITE);
    expect("retry", "fault 8 a1 look1 p0 P0#7\n"
                    "op_end fault ok 2\n");
    (void)trk_tracker_fault(world.tracker, BASE + 8, TRK_ACCESS_EXECUTE);
    expect("forbidden", "fault 8 a2 look2 p0 P0#8\n"
                        "op_end fault ok 0\n");
}

Test(events, locks_by_hand)
{
    (void)!trk_tracker_lock(world.tracker, BASE + 77);
    (void)!trk_tracker_unlock(world.tracker, BASE + PAGE);
    expect("by hand", "op_begin lock 4d+1 f0 r0 t5\n"
                      "lock R0#1\n"
                      "op_end lock ok 0\n"
                      "op_begin unlock 1000+1 f0 r0 t5\n"
                      "unlock R0#1 0\n"
                      "op_end unlock ok 0\n");
}

Test(events, registration)
{
    (void)!trk_tracker_register(world.tracker, BASE + 5, 7);
    (void)!trk_tracker_unregister(world.tracker, BASE + 5, 1);
    expect("registration", "op_begin register 5+7 f0 r0 t5\n"
                           "lock R0#1\n"
                           "unlock R0#1 0\n"
                           "op_end register ok 0\n"
                           "op_begin unregister 5+1 f0 r0 t5\n"
                           "lock R0#2\n"
                           "unlock R0#2 0\n"
                           "op_end unregister ok 0\n");
}
