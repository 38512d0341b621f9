/*
 * Running a small program on the world.
 */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "space_world_internal.h"
#include "track/generations.h"

static unsigned rights_of(const char *text)
{
    unsigned rights = 0;
    while (rights < 7 && strcmp(world_rights(rights), text) != 0)
        rights++;
    return rights;
}

struct words {
    char text[128];
    const char *word[8];
    unsigned count;
};

static void split(struct words *words, const char *step, size_t bytes)
{
    if (bytes >= sizeof words->text)
        abort();
    memcpy(words->text, step, bytes);
    words->text[bytes] = '\0';
    words->count = 0;
    for (char *save = NULL, *word = strtok_r(words->text, " ", &save); word != NULL;
         word = strtok_r(NULL, " ", &save)) {
        if (words->count == 8)
            abort();
        words->word[words->count++] = word;
    }
}

static uint64_t number(const struct words *words, unsigned at)
{
    if (at >= words->count)
        abort();
    return strtoull(words->word[at], NULL, 0);
}

static bool has(const struct words *words, const char *word)
{
    for (unsigned i = 0; i < words->count; i++) {
        if (strcmp(words->word[i], word) == 0)
            return true;
    }
    return false;
}

static void say(struct world *world, const char *format, ...)
{
    size_t used = strlen(world->result);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(world->result + used, sizeof world->result - used, format, arguments);
    va_end(arguments);
}

static void say_status(struct world *world, enum trk_status status)
{
    say(world, "%s", trk_status_name(status));
}

static void step_map(struct world *world, const struct words *words, bool direct)
{
    struct trk_space_map map = {
        .size = sizeof map,
        .kind = direct ? TRK_SPACE_DIRECT : TRK_SPACE_FLEXIBLE,
        .guest_addr = WORLD_BASE + number(words, 1) * PAGE,
        .size_bytes = number(words, 2) * PAGE,
        .physical_offset = direct ? number(words, 3) * PAGE : 0,
        .rights = rights_of(words->word[direct ? 4 : 3]),
        .fixed = has(words, "fixed"),
        .is_private = has(words, "private"),
    };
    say_status(world, trk_space_map(world->space, &map, NULL));
}

/* The steps that change the space. */
static bool change_step(struct world *world, const struct words *words)
{
    const char *verb = words->word[0];
    uint64_t a = words->count > 1 ? number(words, 1) : 0;
    uint64_t n = words->count > 2 ? number(words, 2) : 0;
    uint64_t guest_addr = WORLD_BASE + a * PAGE, size_bytes = n * PAGE, physical = 0;
    if (strcmp(verb, "reserve") == 0)
        say_status(world, trk_space_reserve(world->space, guest_addr, size_bytes, NULL));
    else if (strcmp(verb, "commit") == 0)
        say_status(world, trk_space_commit(world->space, guest_addr, size_bytes,
                                           rights_of(words->word[3]), NULL));
    else if (strcmp(verb, "unmap") == 0)
        say_status(world, trk_space_unmap(world->space, guest_addr, size_bytes, NULL));
    else if (strcmp(verb, "protect") == 0)
        say_status(world, trk_space_protect(world->space, guest_addr, size_bytes,
                                            rights_of(words->word[3]), NULL));
    else if (strcmp(verb, "map") == 0 || strcmp(verb, "direct") == 0)
        step_map(world, words, *verb == 'd');
    else if (strcmp(verb, "release") == 0)
        say_status(world, trk_space_release(world->space, a * PAGE, size_bytes, NULL));
    else if (strcmp(verb, "allocate") == 0) {
        enum trk_status status =
            trk_space_allocate(world->space, a * PAGE, TRK_GUEST_PAGE_BYTES, &physical, NULL);
        if (status != TRK_OK)
            say_status(world, status);
        else
            say(world, "%llu", (unsigned long long)(physical / PAGE));
    } else
        return false;
    return true;
}

/* Whether the emulator sees what was read where trk_space_alias says; bytes NULL: nothing was. */
static bool alias_agrees(const struct world *world, uint64_t guest_addr, uint64_t pages,
                         const unsigned char *bytes)
{
    bool all = true, same = true;
    for (uint64_t page = 0; page < pages; page++) {
        const unsigned char *last =
            trk_space_alias(world->space, guest_addr + page * PAGE + PAGE - 1);
        all = all && last != NULL;
        if (last != NULL && bytes != NULL)
            same = same && memcmp(last - (PAGE - 1), bytes + page * PAGE, PAGE) == 0;
    }
    return same && all == (bytes != NULL);
}

static void step_copy(struct world *world, const struct words *words)
{
    static unsigned char bytes[WORLD_BYTES];
    uint64_t guest_addr = WORLD_BASE + number(words, 1) * PAGE, n = number(words, 2);
    const char *verb = words->word[0];
    memset(bytes, 0xee, sizeof bytes);
    if (strcmp(verb, "write") == 0) {
        memset(bytes, (int)number(words, 3), sizeof bytes);
        say_status(world, trk_space_write(world->space, guest_addr, bytes, n * PAGE));
        return;
    }
    bool sparse = strcmp(verb, "sparse") == 0;
    enum trk_status status = sparse
                                 ? trk_space_sparse_read(world->space, guest_addr, bytes, n * PAGE)
                                 : trk_space_read(world->space, guest_addr, bytes, n * PAGE);
    bool untouched = true, same = true;
    for (size_t i = 0; i < sizeof bytes; i++) {
        untouched = untouched && bytes[i] == 0xee;
        same = same && (i >= n * PAGE || bytes[i] == bytes[0]);
    }
    if (status != TRK_OK)
        say(world, "%s%s", trk_status_name(status), untouched ? "" : " and touched");
    else if (!sparse)
        same ? say(world, "%u", bytes[0]) : say(world, "mixed");
    if (!sparse && !alias_agrees(world, guest_addr, n, status == TRK_OK ? bytes : NULL))
        say(world, " but not so by its alias");
    for (uint64_t page = 0; status == TRK_OK && sparse && page < n; page++)
        say(world, "%s%u", page > 0 ? " " : "", bytes[page * PAGE]);
}

static void step_access(struct world *world, const struct words *words)
{
    volatile unsigned char *at =
        (volatile unsigned char *)(uintptr_t)world_host_addr(world, number(words, 1));
    if (*words->word[0] == 'l') {
        say(world, "%u", *at);
        return;
    }
    for (uint64_t i = 0; i < number(words, 2) * PAGE; i++)
        at[i] = (unsigned char)number(words, 3);
}

static void step_track(struct world *world, const struct words *words)
{
    struct trk_tracker *tracker = world->tracker;
    uint64_t guest_addr = WORLD_BASE + number(words, 1) * PAGE,
             size_bytes = number(words, 2) * PAGE, sum = 0;
    const char *verb = words->word[0];
    struct trk_transfer upload = {.size = sizeof upload,
                                  .guest_addr = guest_addr,
                                  .size_bytes = size_bytes,
                                  .written = strcmp(verb, "upload_written") == 0};
    if (strncmp(verb, "upload", 6) == 0)
        world_must(trk_tracker_upload(tracker, &upload));
    else if (strcmp(verb, "register") == 0)
        world_must(trk_tracker_register(tracker, guest_addr, size_bytes));
    else if (strcmp(verb, "untrack") == 0)
        world_must(trk_tracker_untrack(tracker, guest_addr, size_bytes));
    else if (strcmp(verb, "drain") == 0)
        world_flush(world, guest_addr, size_bytes);
    else if (strcmp(verb, "track") == 0)
        world_must(trk_generations_track(tracker, guest_addr, size_bytes, &sum));
    else if (strcmp(verb, "watch") == 0)
        world_must(trk_pages_watch(tracker, guest_addr, size_bytes));
    else if (strcmp(verb, "unwatch") == 0)
        world_must(trk_pages_unwatch(tracker, guest_addr, size_bytes));
    else
        abort();
}

static void step_look(struct world *world, const struct words *words)
{
    uint64_t page = number(words, 1), others[TRK_VIEWS_MAX];
    uint64_t guest_addr = WORLD_BASE + page * PAGE;
    const char *verb = words->word[0];
    struct trk_page_view view = trk_pages_view(world->tracker, guest_addr);
    if (strcmp(verb, "prot") == 0)
        say(world, "%s",
            world_rights(world->real->attach == NULL ? world_kernel_rights(world, page)
                                                     : view.host_rights));
    else if (strcmp(verb, "state") == 0)
        say(world, "%s", view.cpu_dirty ? "cpu" : view.gpu_dirty ? "gpu" : "clean");
    else {
        uint32_t count = trk_tracker_views(world->tracker, guest_addr, others);
        for (uint32_t i = 0; i < count; i++)
            say(world, "%s%llu", i == 0 ? "[" : " ",
                (unsigned long long)((others[i] - WORLD_BASE) / PAGE));
        say(world, "]");
    }
}

static void step_known(struct world *world, const struct words *words)
{
    uint64_t sum = 0;
    world_must(trk_generations_query(world->tracker, WORLD_BASE + number(words, 1) * PAGE,
                                     number(words, 2) * PAGE, &sum));
    say(world, sum != 0 ? "yes" : "no");
}

static void act(struct world *world, const struct words *words)
{
    static const struct {
        const char *verbs;
        void (*step)(struct world *world, const struct words *words);
    } groups[] = {
        {" write read sparse ", step_copy},
        {" load store ", step_access},
        {" prot state views ", step_look},
        {" known ", step_known},
    };
    const char *verb = words->word[0];
    if (change_step(world, words))
        return;
    if (strcmp(verb, "query") == 0) {
        FILE *out = fmemopen(world->result, sizeof world->result, "w");
        world_stretch(world, number(words, 1), out);
        fclose(out);
        return;
    }
    if (strcmp(verb, "prepare") == 0) {
        say_status(world, trk_space_sys_prepare(world->space, WORLD_BASE + number(words, 1) * PAGE,
                                                number(words, 2) * PAGE,
                                                *words->word[3] == 'w' ? TRK_ACCESS_WRITE
                                                                       : TRK_ACCESS_READ));
        return;
    }
    char padded[32];
    snprintf(padded, sizeof padded, " %s ", verb);
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        if (strstr(groups[i].verbs, padded) != NULL) {
            groups[i].step(world, words);
            return;
        }
    }
    step_track(world, words);
}

const char *world_run(struct world *world, const char *steps)
{
    static char problem[600];
    for (;;) {
        steps += strspn(steps, " ;");
        if (*steps == '\0')
            return NULL;
        size_t bytes = strcspn(steps, ";");
        const char *expected = memmem(steps, bytes, "=> ", 3);
        struct words words;
        split(&words, steps, expected != NULL ? (size_t)(expected - steps) : bytes);
        world->result[0] = '\0';
        act(world, &words);
        size_t wanted = expected != NULL ? bytes - (size_t)(expected + 3 - steps) : 0;
        if (expected != NULL &&
            (strlen(world->result) != wanted || memcmp(world->result, expected + 3, wanted) != 0)) {
            snprintf(problem, sizeof problem, "`%.*s` gives `%s`", (int)bytes, steps,
                     world->result);
            return problem;
        }
        steps += bytes;
    }
}
