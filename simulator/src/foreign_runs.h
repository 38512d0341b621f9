/*
 * The runs of pages that one operation hands over.
 */
#ifndef SIMULATOR_FOREIGN_RUNS_H
#define SIMULATOR_FOREIGN_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct span;

/* Zero-initialised is empty. */
struct foreign_runs {
    struct span *items;
    size_t count, room;
    bool lost; /* there were more than there is room for */
};

void foreign_runs_deinit(struct foreign_runs *runs);
void foreign_runs_clear(struct foreign_runs *runs);
void foreign_runs_add(struct foreign_runs *runs, uint64_t guest_addr, uint64_t size_bytes);

/* Have the same as another one. */
void foreign_runs_copy(struct foreign_runs *runs, const struct foreign_runs *from);

/* Ascending; all below need that. */
void foreign_runs_sort(struct foreign_runs *runs);

bool foreign_runs_same(const struct foreign_runs *a, const struct foreign_runs *b);

/* The first byte that comes twice; false: none does. */
bool foreign_runs_twice(const struct foreign_runs *runs, uint64_t *guest_addr);
/* The first run without a byte; false: there is none. */
bool foreign_runs_empty(const struct foreign_runs *runs, uint64_t *guest_addr);

/* Put runs together that touch or overlap, and leave out those without a byte. */
void foreign_runs_join(struct foreign_runs *runs);

/* Of joined runs: how many bytes they have of a range, and whether both have the same of it. */
uint64_t foreign_runs_bytes(const struct foreign_runs *runs, uint64_t first, uint64_t end);
bool foreign_runs_agree(const struct foreign_runs *a, const struct foreign_runs *b, uint64_t first,
                        uint64_t end);
/* Of joined runs: the first byte of a range that only the first ones have; false: there is none. */
bool foreign_runs_more(const struct foreign_runs *runs, const struct foreign_runs *than,
                       struct span range, uint64_t *guest_addr);

#endif
