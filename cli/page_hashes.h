/*
 * Which uploads carried nothing new: the contents of uploaded pages, by their hashes.
 */
#ifndef CLI_PAGE_HASHES_H
#define CLI_PAGE_HASHES_H

#include "recorder/trace.h"

/* Zero-initialised is empty. */
struct trk_page_hashes {
    struct {
        uint64_t page; /* number + 1; 0: free slot */
        uint64_t hash; /* of what was uploaded last */
    } * slots;
    size_t slot_count, count;
    uint64_t hashed;    /* uploaded pages with a hash */
    uint64_t redundant; /* of them, with the content that was uploaded before */
    uint64_t moved;     /* whose content changed between arming and the end of the copy */
};

/* Note a page's hash, if the event is one. False: no memory to keep it. */
TRK_MUST_USE bool trk_page_hashes_note(struct trk_page_hashes *hashes,
                                       const struct trk_event *event);
void trk_page_hashes_deinit(struct trk_page_hashes *hashes);

#endif
