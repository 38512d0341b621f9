/*
 * A tracker under test, with its host, observer and failure handler.
 */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "real_host.h"
#include "track/address.h"

static int host_protect(struct trk_backend *backend, uint64_t guest_addr, uint64_t size_bytes,
                        unsigned rights)
{
    struct fixture *fixture = (struct fixture *)backend;
    uint64_t first = (guest_addr - FIXTURE_BASE) / TRK_HOST_PAGE_BYTES;
    uint64_t pages = size_bytes / TRK_HOST_PAGE_BYTES;
    bool inside = guest_addr % TRK_HOST_PAGE_BYTES == 0 && size_bytes % TRK_HOST_PAGE_BYTES == 0 &&
                  pages > 0 && first < FIXTURE_PAGES && pages <= FIXTURE_PAGES - first &&
                  first / TRK_REGION_PAGES == (first + pages - 1) / TRK_REGION_PAGES;
    if (!inside) {
        snprintf(fixture->broken, sizeof fixture->broken, "host call %#llx +%#llx",
                 (unsigned long long)guest_addr, (unsigned long long)size_bytes);
        return 0;
    }
    int result = fixture->simulated->protect(fixture->simulated, guest_addr, size_bytes, rights);
    if (result != 0) {
        fixture->refused++;
        return result;
    }
    memset(&fixture->host[first], (int)rights, (size_t)pages);
    uint32_t wrong = 0;
    if (fixture->real &&
        !real_host_protect(fixture->host, (uint32_t)first, (uint32_t)pages, &wrong))
        snprintf(fixture->broken, sizeof fixture->broken, "page %u: the real host is another",
                 wrong);
    if (fixture->call_count < FIXTURE_CALLS_MAX)
        fixture->calls[fixture->call_count++] = (struct fixture_call){
            .first = (uint32_t)first, .pages = (uint32_t)pages, .rights = rights};
    return 0;
}

static void host_destroy(struct trk_backend *backend)
{
    (void)backend;
}

static void on_event(void *context, const struct trk_event *event)
{
    struct fixture *fixture = context;
    stream_feed(&fixture->stream, event);
    if (event->type == TRK_EVENT_OP_END)
        fixture->last_end = *event;
}

static void on_failure(void *context, const struct trk_failure *failure)
{
    struct fixture *fixture = context;
    fixture->failures++;
    fixture->failure = *failure;
    if (fixture->broken[0] == '\0' &&
        (failure->text[0] == '\0' || memchr(failure->text, '\0', sizeof failure->text) == NULL ||
         strchr(failure->text, '\n') != NULL || failure->thread_id == 0))
        snprintf(fixture->broken, sizeof fixture->broken, "a failure without a proper line");
}

static void open_with(struct fixture *fixture, const struct trk_policy *policy, uint32_t id,
                      bool observed)
{
    memset(fixture, 0, sizeof *fixture);
    memset(fixture->host, TRK_RIGHTS_RW, sizeof fixture->host);
    fixture->real = real_host_open(FIXTURE_BASE, FIXTURE_PAGES);
    if (trk_backend_simulated_create(&fixture->simulated, NULL) != TRK_OK)
        abort();
    fixture->backend = (struct trk_backend){
        .kind = TRK_BACKEND_SIMULATED,
        .name = "test host",
        .protect = host_protect,
        .destroy = host_destroy,
    };
    stream_init(&fixture->stream, true);

    struct trk_tracker_options options = trk_tracker_options_default();
    options.policy = *policy;
    options.backend = &fixture->backend;
    fixture->observed = observed && getenv("TRK_TEST_UNOBSERVED") == NULL;
    if (fixture->observed)
        options.observer = (struct trk_observer){.emit = on_event, .context = fixture};
    options.failure = on_failure;
    options.failure_context = fixture;
    options.id = id;
    struct trk_error error;
    if (trk_tracker_create(&fixture->tracker, &options, &error) != TRK_OK) {
        fprintf(stderr, "no tracker: %s\n", error.text);
        abort();
    }
}

void fixture_open(struct fixture *fixture, const struct trk_policy *policy, uint32_t id)
{
    open_with(fixture, policy, id, true);
}

void fixture_open_unobserved(struct fixture *fixture, const struct trk_policy *policy, uint32_t id)
{
    open_with(fixture, policy, id, false);
}

void fixture_close(struct fixture *fixture)
{
    stream_finish(&fixture->stream);
    if (fixture->broken[0] == '\0' && fixture->stream.broken[0] != '\0')
        snprintf(fixture->broken, sizeof fixture->broken, "%s", fixture->stream.broken);
    trk_tracker_destroy(fixture->tracker);
    trk_backend_destroy(fixture->simulated);
    if (fixture->real)
        real_host_close();
}

static unsigned less_watches(const struct trk_page_view *view, unsigned rights)
{
    if (view->read_watch)
        return TRK_RIGHTS_NONE;
    return view->write_watches > 0 || view->armed ? rights & ~TRK_RIGHT_WRITE : rights;
}

/*
 * [M-38] [M-73]: guest rights, less all for a read watch, less write for write watches, of
 * all registered views between them.
 */
static unsigned rights_asked(struct trk_tracker *tracker, uint64_t guest_addr,
                             const struct trk_page_view *view)
{
    uint64_t views[TRK_VIEWS_MAX];
    unsigned rights = less_watches(view, view->guest_rights);
    uint32_t count = view->registered ? trk_tracker_views(tracker, guest_addr, views) : 0;
    for (uint32_t i = 0; i < count; i++) {
        struct trk_page_view other = trk_pages_view(tracker, views[i]);
        if (other.registered)
            rights = less_watches(&other, rights);
    }
    return rights;
}

static const char *page_fault(const struct trk_page_view *view, unsigned host, unsigned asked,
                              bool explained)
{
    if (view->cpu_dirty && view->gpu_dirty)
        return "page is CPU and GPU";
    if (view->writable != view->cpu_dirty)
        return "writable is not cpu_dirty";
    if (view->readable == view->gpu_dirty)
        return "readable is gpu_dirty";
    if (view->write_watches < !view->cpu_dirty || view->read_watch < view->gpu_dirty)
        return "fewer watches than the state asks for";
    if (explained &&
        (view->write_watches != !view->cpu_dirty || view->read_watch != view->gpu_dirty))
        return "more watches than the state asks for";
    if (view->host_rights != host)
        return "the tracker is wrong about the host";
    if (host != asked)
        return "host rights are not those asked for";
    return NULL;
}

void fixture_check(struct fixture *fixture, bool watches_explained)
{
    for (uint32_t page = 0; page < FIXTURE_PAGES && fixture->broken[0] == '\0'; page++) {
        uint64_t guest_addr = FIXTURE_BASE + (uint64_t)page * TRK_HOST_PAGE_BYTES;
        struct trk_page_view view = trk_pages_view(fixture->tracker, guest_addr);
        unsigned asked = rights_asked(fixture->tracker, guest_addr, &view);
        const char *fault = page_fault(&view, fixture->host[page], asked, watches_explained);
        if (fault != NULL)
            snprintf(fixture->broken, sizeof fixture->broken,
                     "page %u: %s (cpu %d gpu %d, watches %u/%d, guest %x, host %x)", page, fault,
                     view.cpu_dirty, view.gpu_dirty, view.write_watches, view.read_watch,
                     view.guest_rights, fixture->host[page]);
    }
    if (fixture->broken[0] == '\0' && fixture->stream.broken[0] != '\0')
        snprintf(fixture->broken, sizeof fixture->broken, "%s", fixture->stream.broken);
}
