/*
 * Writing a window down as a scenario file: what the two halves of the writer share.
 */
#ifndef SIMULATOR_EXPLORE_SCRIPT_H
#define SIMULATOR_EXPLORE_SCRIPT_H

#include "explore_text.h"
#include "explore_window.h"

/* Neighbouring pages with the same rights and registration, as one entry under `memory`. */
struct script_entry {
    uint64_t guest_addr, size_bytes;
    unsigned rights;
    bool registered;
};

struct script {
    const struct window *window;
    const struct script_request *request;
    struct script_entry entries[EXPLORE_PAGES_MOST];
    uint32_t entry_count;
    struct growing text; /* the operation being written */
};

/* "A+1024 16", "A+1P 2P". */
void script_range(struct script *script, uint64_t guest_addr, uint64_t size_bytes);
/* What a stamp is as a byte of memory, 1 .. 250. */
uint32_t script_value(uint32_t stamp);
/*
 * Write down what a thread does: one string for each operation of its list, with what it signals
 * and awaits. explore_script_ops.c.
 */
typedef void script_add_fn(void *list, const char *text);
void script_thread(struct script *script, uint32_t stream, script_add_fn *add, void *list);

#endif
