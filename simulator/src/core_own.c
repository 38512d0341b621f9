/*
 * Libtrack as the core: the live build for traces. The simulated one, for scenarios, is this file's
 * other half (core_own_simulated.c), which is compiled under that build's names.
 */
#include "core_own.h"

const struct core_calls core_own_live = {CORE_OWN_CALLS};

const struct core_calls *core_live = &core_own_live;
