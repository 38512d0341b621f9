/*
 * The parts of the process's fault handler. Internal to libtrack.
 *
 * fault.c has the order: emulate (branch 1), ask the owner (branch 2), report and chain (branch 3).
 * Everything here runs in the handler unless it says otherwise: no allocation, no lock, no stdio.
 */
#ifndef TRACK_FAULT_PARTS_H
#define TRACK_FAULT_PARTS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "env.h"
#include "track/fault.h"

/* One delivery. An emulated instruction whose operand faults becomes another signal. */
struct fault {
    int signal_number;
    siginfo_t info;
    ucontext_t *context;
    trk_fault_fn *owner; /* NULL: none */
    void *owner_context;
};

/* Whether no instruction raised the signal: kill(2), or a memory error told ahead of its use. */
bool trk_fault_sent(const struct fault *fault);
/* What the instruction did to its page; false: the signal tells of no access to a page. */
bool trk_fault_access(const struct fault *fault, enum trk_access *out);
/* Where the access was. */
uint64_t trk_fault_host_addr(const struct fault *fault);
/* What the interrupted code was at. */
struct env_interrupted trk_fault_interrupted_code(const struct fault *fault);

/*
 * Carry out the instruction that raised SIGILL; true: done, the context stands behind it. When its
 * memory operand faults, `fault` becomes what the processor would have raised.
 */
bool trk_fault_emulate(struct fault *fault);

/* Who had the signals before. The first two run where the handler is installed, not in it. */
#define FAULT_SIGNALS 3
extern const int trk_fault_signals[FAULT_SIGNALS];
bool trk_fault_former_save(void);
bool trk_fault_former_restore(unsigned count);
bool trk_fault_former_is_default(const struct fault *fault);
void trk_fault_chain(struct fault *fault);

#endif
