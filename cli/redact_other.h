/*
 * Addresses outside of the bands of guest memory, such as the host's own, while a trace is
 * redacted: what lies together stays together, in its order; how far it lies from the rest goes.
 */
#ifndef CLI_REDACT_OTHER_H
#define CLI_REDACT_OTHER_H

#include <stdbool.h>
#include <stdint.h>

/* So many pieces of memory apart from each other. */
#define TRK_REDACT_RUNS 4096u

/* In units of 4 MiB from address 0 on, as regions are. */
struct trk_redact_run {
    uint64_t first, end;
    uint64_t to; /* where the first one goes */
};

/* Zero-initialised is empty. */
struct trk_redact_other {
    struct trk_redact_run runs[TRK_REDACT_RUNS]; /* ascending, with something between them */
    uint32_t count;
    bool full;  /* there are more: none is moved */
    bool moves; /* at least one */
};

/* First pass: a range outside of the bands is used. What is below the first page stays. */
void trk_redact_other_note(struct trk_redact_other *other, uint64_t guest_addr,
                           uint64_t size_bytes);
void trk_redact_other_join(struct trk_redact_other *other, const struct trk_redact_other *more);
bool trk_redact_other_alike(const struct trk_redact_other *a, const struct trk_redact_other *b);
/* Between the passes. */
void trk_redact_other_decide(struct trk_redact_other *other);
/* Second pass. */
uint64_t trk_redact_other_moved(const struct trk_redact_other *other, uint64_t guest_addr);

#endif
