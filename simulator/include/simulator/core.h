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
#include <stdint.h>

#include "track/status.h"

TRK_EXTERN_C_BEGIN

struct trk_scenario;
struct trk_scenario_options;

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
    bool unseen;  /* it says that each page has a lock of its own, and they are not the host's: what
                     it says is taken as said */
};

/* What is loaded; false: nothing, libtrack's own core is in force. */
bool trk_core_about(struct trk_core_about *out);

/*
 * Let the plug-in that was loaded run scenarios alone: traces are read with libtrack's own core,
 * and what they did is tried on the plug-in (simulator/explore.h).
 */
void trk_core_spare_traces(void);

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

/**
 * What a scenario needs of a tracker's design that the plug-in says is another of its own, in
 * words; NULL: nothing. core-check leaves such cases out.
 *
 * Runs the scenario on libtrack's own core: what is needed does not depend on the plug-in's
 * answers.
 *
 * @return As trk_scenario_run_with.
 */
TRK_MUST_USE enum trk_status trk_core_differs(const struct trk_scenario *scenario,
                                              const struct trk_scenario_options *options,
                                              const char **out);

/* The size of pages that the plug-in takes in a scenario whose policy is as it is else: the
 * scenario's own, where it takes that one, or none; or a larger one instead of 4 KiB. */
uint32_t trk_core_page_size(const struct trk_scenario *scenario);

/**
 * Make a scenario of 4 KiB pages one of larger pages: what core-check runs on a tracker that has no
 * smaller ones. The file means what it meant; this is another program, in which each page has
 * become a page of the tracker's.
 *
 * @param page_size_bytes  16384 or 65536.
 * @param why              Of TRK_E_UNSUPPORTED: what of the program has no meaning then.
 * @return TRK_OK; TRK_E_UNSUPPORTED, TRK_E_MEMORY: the scenario is to be destroyed.
 */
TRK_MUST_USE enum trk_status trk_scenario_scale(struct trk_scenario *scenario,
                                                uint32_t page_size_bytes, const char **why);

/* Count in *where, which other processes may read, what comes to its end: schedules, and operations
 * of a trace that are compared. */
void trk_core_count_into(uint64_t *where);

/* Why a run against the plug-in came to no end: what it did that is no answer; NULL: nothing. */
const char *trk_core_complaint(void);
/* Whether that is a call against the interface, or an exception: no run with it counts, whatever it
 * came to. */
bool trk_core_misused(void);

TRK_EXTERN_C_END

#endif
