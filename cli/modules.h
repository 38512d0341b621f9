/* The modules that the recorded program had loaded, from the trace's header: names for pcs. */
#ifndef CLI_MODULES_H
#define CLI_MODULES_H

#include <stdint.h>

#include "recorder/event_text.h"

#define TRK_MODULE_TEXT_BYTES 96

struct trk_module {
    uint64_t base_addr, first_addr, end_addr;
    char name[64]; /* a word: '?' for spaces, quotes, backslashes, and what is not ASCII */
};

/* Zero: none are known. */
struct trk_modules {
    struct trk_module *at;
    size_t count;
};

/* Without memory, or in a header without them, none are known. */
void trk_modules_init(struct trk_modules *out, const char *header_json);
void trk_modules_deinit(struct trk_modules *modules);

/* "name+0xoffset" of the module that a pc lies in, from its lowest mapping; "": none. */
const char *trk_modules_find(const struct trk_modules *modules, uint64_t pc,
                             char out[TRK_MODULE_TEXT_BYTES]);

/*
 * Behind the fields of an event, if it is a FAULT_AT, "at" with what the pc lies in. Gives their
 * new number; the text is `out`.
 */
size_t trk_modules_field(const struct trk_modules *modules, const struct trk_event *event,
                         struct trk_event_field fields[TRK_EVENT_FIELDS_MOST], size_t count,
                         char out[TRK_MODULE_TEXT_BYTES]);

#endif
