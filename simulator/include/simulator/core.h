/*
 * Another tracker than libtrack under the simulator.
 *
 * A plug-in (core_plugin.h) is loaded once in a process, before anything is run, and stays. From
 * then on scenarios run against it, and traces are re-executed by it as far as it tells events. It
 * may crash, hang or end the process: whoever wants to live on loads it in a process of its own.
 */
#ifndef SIMULATOR_CORE_H_PUBLIC
#define SIMULATOR_CORE_H_PUBLIC

#include <stdbool.h>

#include "track/status.h"

TRK_EXTERN_C_BEGIN

struct trk_scenario;

/**
 * Load a plug-in, and let all that this process runs from now on run against it.
 *
 * @param path  Of the shared object; without a slash it is one of the working folder's.
 * @return TRK_OK; TRK_E_UNSUPPORTED when it cannot be loaded, lacks the symbol, is of another
 *         version or lacks what must be there; TRK_E_EXISTS when there is one already. error says
 *         what is wrong.
 *
 * Allocates: yes. Blocks: in the plug-in's own code. Signal-safe: no. Threads: one.
 */
TRK_MUST_USE enum trk_status trk_core_load(const char *path, struct trk_error *error);

struct trk_core_about {
    char name[64];
    char build[64];
    bool inside;  /* tried inside its operations */
    bool events;  /* it can re-execute traces */
    bool returns; /* its state can be put back; else every schedule runs from the beginning */
    bool knows;   /* known states are searched once */
};

/* What is loaded; false: nothing, libtrack's own core is in force. */
bool trk_core_about(struct trk_core_about *out);

/* Make trackers of the usual policies and destroy them: what never comes back then, or crashes,
 * does so in any run. */
void trk_core_try(void);

/**
 * What a scenario needs that the plug-in has not, in words; NULL: nothing.
 *
 * Creates a tracker of the scenario's policy to see whether there is one. The words are the same
 * memory each time.
 */
const char *trk_core_lacks(const struct trk_scenario *scenario);

/* Why a run against the plug-in came to no end: what it did that is no answer; NULL: nothing. */
const char *trk_core_complaint(void);

TRK_EXTERN_C_END

#endif
