/*
 * Goal: the address space, [M-76] to [M-82]: which changes are made and which refused, what they
 * leave of bytes, rights, views and watches, and that one that fails leaves everything as it was.
 * Method: tables of small programs on real memory (space_world.h); for each change, every call of
 * the host is made to fail in turn, and the world compared as text.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "space_world_internal.h"

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

struct space_case {
    const char *name;
    const char *steps;
};

static void run_table(const struct space_case *cases, size_t count)
{
    static struct world world;
    FOR_BACKENDS(choice)
    {
        for (size_t i = 0; i < count && world_open(&world, choice); i++) {
            const char *problem = world_run(&world, cases[i].steps);
            cr_expect_null(problem, "%s, %s: %s", backend_choice_name(choice), cases[i].name,
                           problem != NULL ? problem : "");
            world_close(&world);
        }
    }
}

static const struct space_case change_cases[] = {
    {"nothing is mapped at first", "query 3 => hole 0+64 none; query 64 => range; "
                                   "read 0 1 => range; sparse 0 2 => 0 0"},
    {"flexible memory is fresh zeros",
     "map 0 4 rw => ok; query 2 => flexible 0+4 rw; prot 0 => rw; read 0 4 => 0; store 0 4 7; "
     "read 0 4 => 7; unmap 0 4 => ok; map 8 4 rw => ok; read 8 4 => 0; prot 0 => none"},
    {"over what is there only when fixed",
     "map 0 4 rw; store 0 4 7; map 3 2 rw => exists; read 0 4 => 7; query 4 => hole 4+60 "
     "none; "
     "map 3 2 r fixed => ok; read 0 3 => 7; read 3 2 => 0; query 3 => flexible 3+2 r"},
    {"reserved space is closed until committed",
     "reserve 4 8 => ok; prot 4 => none; sparse 4 1 => 0; read 4 1 => range; "
     "map 5 1 rw => exists; reserve 11 2 => exists; commit 6 2 rw => ok; "
     "store 6 2 9; sparse 5 4 => 0 9 9 0; query 5 => reserved 4+2 none; query 6 => flexible 6+2 "
     "rw; "
     "commit 7 2 rw => argument; commit 3 2 rw => argument; unmap 6 1 => ok; "
     "unmap 6 1 => argument; sparse 6 2 => 0 9; query 6 => hole 6+1 none"},
    {"unmapping the middle keeps the neighbours",
     "map 0 6 rw; store 0 6 5; protect 4 2 r => ok; unmap 2 2 => ok; read 0 2 => 5; read 4 2 => 5; "
     "prot 1 => rw; prot 4 => r; prot 2 => none; query 4 => flexible 4+2 r; load 5 => 5; "
     "unmap 1 2 => argument; query 1 => flexible 0+2 rw"},
    {"protection of holes is refused",
     "map 0 2 rw; protect 0 3 r => argument; prot 0 => rw; reserve 2 1; "
     "protect 0 3 r => argument; protect 0 2 rx => ok; prot 1 => rx; protect 1 1 none => ok; "
     "prot 1 => none; query 0 => flexible 0+1 rx"},
    {"ranges that are not owned",
     "map 63 2 rw => range; unmap 64 1 => range; reserve 70 1 => range; "
     "map 0 0 rw => range; commit 100 1 rw => range"},
    {"the pool is used up, and comes back",
     "map 0 20 rw => ok; map 20 16 rw => memory; query 20 => hole 20+44 none; "
     "unmap 5 4 => ok; map 20 16 rw => ok; read 20 16 => 0; query 20 => flexible 9+27 rw; "
     "unmap 0 5; unmap 9 11; unmap 20 16; map 30 32 rw => ok; query 30 => flexible 30+32 rw"},
    {"direct memory keeps its bytes while it is allocated",
     "allocate 4 => 0; allocate 4 => 4; direct 0 4 0 rw => ok; store 0 4 3; unmap 0 4; "
     "direct 8 2 1 r => ok; read 8 2 => 3; query 8 => direct 8+2 r @1; release 0 4 => ok; "
     "query 8 => hole 0+64 none; allocate 4 => 0; direct 0 4 0 rw; read 0 4 => 0"},
    {"direct memory that is not allocated",
     "direct 0 1 0 rw => argument; allocate 4; direct 0 4 1 rw => argument; "
     "release 0 8 => argument; direct 0 4 0 rw => ok; allocate 32 => memory"},
    {"what is owned and not mapped stays closed",
     "prot 8 => none; upload 8 2; prot 8 => none; untrack 8 2; prot 8 => none; watch 40 1; "
     "unwatch 40 1; prot 40 => none"},
    {"the same mapping again is kept",
     "allocate 4; direct 0 4 0 rw; register 0 4; upload 0 4; direct 0 4 0 rw fixed => ok; "
     "state 0 => clean; prot 0 => r; direct 0 4 0 rw => exists; track 0 4; "
     "direct 0 4 0 rw fixed => ok; known 0 4 => yes; direct 0 4 0 r fixed; known 0 4 => no"},
    {"a mapping of another size is another",
     "allocate 16; direct 0 8 0 rw; track 0 8; direct 0 4 0 rw fixed => ok; known 0 4 => no; "
     "known 4 4 => yes; query 4 => direct 0+8 rw @0; track 0 4; direct 0 8 0 rw fixed; "
     "known 0 4 => no; known 4 4 => no; track 0 8; direct 0 8 0 rw fixed; known 0 8 => yes"},
    {"neighbours are no larger mapping, and what is left is no smaller one",
     "allocate 16; direct 0 4 0 rw; direct 4 4 4 rw; query 5 => direct 0+8 rw @0; track 0 8; "
     "direct 0 8 0 rw fixed; known 0 4 => no; track 0 8; direct 4 4 4 rw fixed; known 4 4 => no; "
     "known 0 4 => yes; direct 0 8 0 rw fixed; unmap 4 4; track 0 4; direct 0 4 0 rw fixed; "
     "known 0 4 => no"},
};

Test(space, changes)
{
    run_table(change_cases, COUNT(change_cases));
}

static const struct space_case view_cases[] = {
    {"aliases are joined and parted",
     "allocate 8; direct 0 4 0 rw; direct 16 4 2 rw; views 2 => [2 16]; views 1 => [1]; "
     "direct 30 8 0 rw; views 3 => [3 17 33]; unmap 17 1; views 3 => [3 33]; "
     "views 2 => [2 16 32]; store 2 1 6; load 16 => 6; load 32 => 6"},
    {"a watch reaches every registered alias",
     "allocate 4; direct 0 4 0 rw; direct 16 4 0 rw; register 0 4; register 16 4; upload 0 2; "
     "prot 17 => r; prot 18 => rw; store 17 1 9; state 1 => cpu; prot 1 => rw; prot 0 => r; "
     "untrack 0 4; prot 16 => rw"},
    {"a new alias has the watches from its first moment",
     "allocate 4; direct 0 4 0 rw; register 0 32; upload_written 0 1; direct 16 4 0 rw; "
     "prot 16 => none; prot 17 => rw; load 16 => 0; prot 16 => r; state 0 => clean; "
     "unmap 0 4; prot 16 => rw; untrack 0 4"},
    {"a mapping over a live watch gets it",
     "map 0 4 rw; register 0 4; upload 0 4; unmap 0 4; prot 0 => none; state 0 => clean; "
     "map 0 4 rw; prot 0 => r; store 0 1 2; prot 0 => rw; untrack 0 4"},
    {"the guest's protection keeps the watch",
     "map 0 4 rw; register 0 4; upload 0 4; protect 0 2 r; prot 0 => r; protect 0 2 rwx; "
     "prot 0 => rx; prot 2 => r; untrack 0 4; prot 0 => rwx"},
    {"releasing unmaps every alias",
     "allocate 8; direct 0 4 0 rw; direct 16 8 0 rw; release 0 4 => ok; query 0 => hole 0+20 none; "
     "query 20 => direct 20+4 rw @4; views 16 => [16]"},
};

Test(space, views)
{
    run_table(view_cases, COUNT(view_cases));
}

static const struct space_case read_cases[] = {
    {"reads and writes look at the whole range first",
     "map 0 2 rw; map 3 1 rw; write 0 2 8 => ok; write 1 2 9 => range; read 1 1 => 8; "
     "write 1 3 9 => range; read 0 3 => range; read 3 1 => 0; protect 0 2 r; write 0 2 4 => ok; "
     "read 0 2 => 4; write 0 0 1 => range"},
    {"holes read as zeros", "map 1 1 rw; store 1 1 7; map 3 1 none; write 3 1 6; "
                            "sparse 0 5 => 0 7 0 6 0; sparse 60 5 => range; sparse 62 2 => 0 0"},
    {"private memory is not read",
     "map 0 1 rw; map 1 1 rw private; map 2 1 rw; write 0 3 5; sparse 0 1 => 5; sparse 0 2 => "
     "range; "
     "sparse 1 1 => range; sparse 2 2 => 5 0; read 0 3 => 5; query 1 => flexible 1+1 rw private"},
};

Test(space, reads)
{
    run_table(read_cases, COUNT(read_cases));
}

static const struct space_case kernel_cases[] = {
    {"clean pages for read(2)", "map 0 4 rw; register 0 4; upload 0 4; prepare 1 2 w => ok; "
                                "prot 1 => rw; prot 0 => r; state 2 => cpu; untrack 0 4"},
    {"pages of the GPU for read(2)", "map 0 4 rw; register 0 4; upload_written 0 4; "
                                     "prepare 0 2 w => ok; state 1 => cpu; state 2 => gpu; "
                                     "prepare 2 2 r => ok; state 2 => clean; prepare 0 4 r => ok; "
                                     "untrack 0 4"},
    {"through another view", "allocate 4; direct 0 4 0 rw; direct 16 4 0 rw; register 0 32; "
                             "upload_written 0 2; prepare 16 1 w => ok; prot 16 => rw; "
                             "state 0 => cpu; prepare 17 1 r => ok; state 1 => clean; untrack 0 4"},
    {"what the guest may not do the kernel may not either",
     "map 0 2 r; prepare 0 2 r => ok; prepare 0 2 w => argument; protect 0 1 none; "
     "prepare 0 1 r => argument; prepare 1 2 r => range"},
    {"a client's watch stays", "map 0 2 rw; watch 0 1; prepare 0 2 w => unsupported; prot 0 => r; "
                               "prepare 0 2 r => ok; unwatch 0 1; prepare 0 2 w => ok"},
};

Test(space, kernel)
{
    run_table(kernel_cases, COUNT(kernel_cases));
}

/* ---- every call fails once ---- */

#define LIVE                                                                                       \
    "allocate 8; allocate 8; direct 0 8 0 rw; direct 16 8 4 rw; map 30 4 rw; protect 31 1 rx; "    \
    "reserve 40 4; register 0 64; store 0 8 1; store 20 4 2; store 30 1 3; write 31 3 4; "         \
    "upload 0 2; upload 16 6; upload_written 18 1; upload 32 2; "

static const struct {
    const char *name, *setup, *step;
} failing_cases[] = {
    {"map", LIVE, "map 50 8 rw"},
    {"map over a region's edge", LIVE, "map 10 6 rw; "},
    {"map over live maps", LIVE, "map 2 24 rw fixed"},
    {"map in pieces of the pool", LIVE "map 44 2 rw; map 46 2 rw; unmap 44 2",
     "map 36 26 rw fixed"},
    {"direct beside others", LIVE, "direct 50 12 0 r"},
    {"direct over itself at another offset", LIVE, "direct 0 8 2 rw fixed"},
    {"direct over its own alias", LIVE, "direct 16 8 0 rwx fixed"},
    {"commit", LIVE, "commit 41 2 rw"},
    {"commit under a watch", LIVE "commit 40 4 rw; upload 40 4; unmap 40 4; reserve 40 4",
     "commit 40 4 rw"},
    {"unmap a part", LIVE, "unmap 2 4"},
    {"unmap over an edge", LIVE "map 8 8 rw; store 8 8 5", "unmap 1 22"},
    {"unmap an alias", LIVE, "unmap 16 8"},
    {"unmap what the GPU has", LIVE, "unmap 18 1"},
    {"protect", LIVE, "protect 0 8 rx"},
    {"protect over pieces", LIVE, "protect 30 4 none"},
    {"protect over an edge", LIVE "map 8 8 rw", "protect 0 24 rx"},
    {"release", LIVE, "release 4 4"},
    {"release all", LIVE, "release 0 8"},
    {"reserve", LIVE, "reserve 50 4"},
};

/* The same setup and step, with the nth call failing. False: there is no nth call. */
static bool fail_nth(enum backend_choice choice, size_t at, unsigned nth)
{
    static struct world world;
    const char *name = failing_cases[at].name;
    if (!world_open(&world, choice))
        return false;
    const char *problem = world_run(&world, failing_cases[at].setup);
    cr_assert_null(problem, "%s: %s", name, problem);
    char *before = world_text(&world);
    world_fail(&world, nth);
    world_run(&world, failing_cases[at].step);
    bool reached = world.calls >= nth;
    world_fail(&world, 0);
    char *after = world_text(&world);
    bool failed = strcmp(world.result, "ok") != 0;
    if (reached && failed) {
        cr_expect(strcmp(world.result, "system") == 0 || strcmp(world.result, "protect") == 0,
                  "%s, call %u: %s", name, nth, world.result);
        cr_expect_str_eq(after, before, "%s, call %u\n%s\nbefore\n%s", name, nth, after, before);
        world_run(&world, failing_cases[at].step);
        cr_expect_str_eq(world.result, "ok", "%s, after call %u: %s", name, nth, world.result);
    } else {
        cr_expect(!failed, "%s, call %u: %s", name, nth, world.result);
    }
    free(before);
    free(after);
    cr_assert_null(world_run(&world, "drain 0 64; untrack 0 64"));
    world_close(&world);
    return reached;
}

Test(space, every_call_fails_once)
{
    FOR_BACKENDS(choice)
    {
        for (size_t i = 0; i < COUNT(failing_cases); i++) {
            unsigned nth = 1;
            while (fail_nth(choice, i, nth))
                nth++;
            cr_expect(nth > 1 || choice != BACKEND_MPROTECT, "%s makes calls",
                      failing_cases[i].name);
        }
    }
}

/* Where the host cannot give memory back it is still zeros for the next who gets it. */
Test(space, memory_that_cannot_be_forgotten)
{
    static struct world world;
    for (unsigned nth = 1; nth <= 12; nth++) {
        cr_assert(world_open(&world, BACKEND_MPROTECT));
        cr_assert_null(world_run(&world, "map 0 32 rw; store 0 32 9; allocate 8; direct 40 8 0 rw; "
                                         "store 40 8 9"));
        world_fail(&world, nth);
        world_run(&world, "unmap 0 32; release 0 8");
        world_fail(&world, 0);
        world_run(&world, "unmap 0 32; release 0 8");
        const char *problem = world_run(&world, "map 0 32 rw; read 0 32 => 0; allocate 8; "
                                                "direct 40 8 0 rw; read 40 8 => 0");
        cr_expect_null(problem, "call %u: %s", nth, problem);
        world_close(&world);
    }
}

/* ---- the object's life ---- */

static unsigned guest_rights(const struct world *world, uint64_t page)
{
    return trk_pages_view(world->tracker, WORLD_BASE + page * PAGE).guest_rights;
}

/* A region of which a part is owned and in use, when another part is owned later. */
Test(space, parts_of_a_region_owned_one_by_one)
{
    static struct world world;
    cr_assert(world_open(&world, BACKEND_MPROTECT));
    cr_assert_null(world_run(&world, "map 20 1 rw"));
    cr_expect_eq(guest_rights(&world, 63), TRK_RIGHTS_NONE);
    cr_expect_eq(guest_rights(&world, 64), TRK_RIGHTS_RW, "nobody's");
    cr_assert_eq(trk_space_own(world.space, WORLD_BASE + WORLD_BYTES, 4 * PAGE, NULL), TRK_OK);
    cr_expect_eq(guest_rights(&world, 64), TRK_RIGHTS_NONE);
    cr_expect_eq(guest_rights(&world, 67), TRK_RIGHTS_NONE);
    cr_expect_eq(guest_rights(&world, 20), TRK_RIGHTS_RW);
    cr_expect_eq(guest_rights(&world, 68), TRK_RIGHTS_RW, "nobody's");
    world_close(&world);
}

Test(space, owning_happens_as_a_whole)
{
    enum { EDGES = 2, MORE_PAGES = EDGES * TRK_REGION_PAGES };
    static struct world world;
    cr_assert(world_open(&world, BACKEND_MPROTECT));
    for (unsigned nth = 1; nth <= EDGES + 1; nth++) {
        struct trk_error error;
        world_fail(&world, nth);
        cr_expect_eq(
            trk_space_own(world.space, WORLD_BASE + WORLD_BYTES, MORE_PAGES * PAGE, &error),
            TRK_E_PROTECT, "call %u", nth);
        for (uint64_t page = WORLD_PAGES; page < WORLD_PAGES + MORE_PAGES; page += 256)
            cr_expect_eq(guest_rights(&world, page), TRK_RIGHTS_RW, "call %u", nth);
        struct trk_space_stretch stretch;
        cr_expect_eq(trk_space_query(world.space, WORLD_BASE + WORLD_BYTES, &stretch), TRK_E_RANGE);
    }
    world_fail(&world, 0);
    cr_expect_eq(trk_space_own(world.space, WORLD_BASE + WORLD_BYTES, MORE_PAGES * PAGE, NULL),
                 TRK_OK);
    cr_expect_eq(guest_rights(&world, WORLD_PAGES + MORE_PAGES - 1), TRK_RIGHTS_NONE);
    world_close(&world);
}

Test(space, options_and_owned_ranges)
{
    static struct world world;
    cr_assert(world_open(&world, BACKEND_MPROTECT));
    struct trk_space_options options = trk_space_options_default();
    struct trk_space *space = NULL;
    cr_expect_eq(trk_space_create(&space, &options, NULL), TRK_E_ARGUMENT, "no tracker");
    options.tracker = world.tracker;
    options.direct_bytes = 4096;
    cr_expect_eq(trk_space_create(&space, &options, NULL), TRK_E_ARGUMENT, "odd size");
    options.direct_bytes = 0;
    cr_assert_eq(trk_space_create(&space, &options, NULL), TRK_OK);
    cr_expect_eq(trk_space_own(space, WORLD_BASE, 4096, NULL), TRK_E_EXISTS, "another's place");
    cr_expect_eq(trk_space_own(world.space, WORLD_BASE + 4096, 4096, NULL), TRK_E_EXISTS);
    cr_expect_eq(trk_space_own(space, 0, 4096, NULL), TRK_E_RANGE);
    cr_expect_eq(trk_space_own(space, TRK_LOW_END - 4096, 8192, NULL), TRK_E_RANGE);
    cr_expect_eq(trk_space_own(space, TRK_ARENA_FIRST + 100, 4096, NULL), TRK_E_ARGUMENT);
    cr_expect_eq(trk_space_own(space, TRK_ARENA_FIRST, 1 << 20, NULL), TRK_OK);
    uint64_t physical;
    cr_expect_eq(trk_space_allocate(space, 1 << 14, 1 << 14, &physical, NULL), TRK_E_MEMORY);
    trk_space_destroy(space);
    world_close(&world);
}
