/*
 * The core's contact with the world in the simulated build: the part of env.h that differs.
 *
 * Threads are the simulator's, one runs at a time, and none is taken away but at a hook. So a lock
 * is a word that says who has it; taking one is a place where the simulator may let another thread
 * run, and must while it is taken. Host calls and callbacks go to the simulator anyway. The short
 * ways of the core are off, since a simulator listens; what they would need here refuses.
 */
#ifndef TRACK_ENV_SIM_H
#define TRACK_ENV_SIM_H

#include "track/sim_build.h"

/* No processor has faulted. */
static inline const struct env_interrupted *env_interrupted(uint64_t guest_addr)
{
    (void)guest_addr;
    return NULL;
}

static inline bool env_lock_try(struct env_lock *lock, uint32_t id)
{
    trk_hook_lock(&lock->word);
    lock->word = id;
    return true;
}

static inline void env_lock_slow(struct env_lock *lock, uint32_t id)
{
    (void)env_lock_try(lock, id);
}

static inline uint32_t env_lock_owner(const struct env_lock *lock)
{
    return lock->word;
}

static inline void env_unlock(struct env_lock *lock)
{
    trk_hook_unlock(&lock->word);
    lock->word = 0;
}

static inline bool env_lock_try_pair(struct env_lock *first, uint32_t id)
{
    (void)first;
    (void)id;
    return false;
}

static inline bool env_lock_pair_spin(struct env_lock *first, uint32_t id)
{
    return env_lock_try_pair(first, id);
}

static inline void env_unlock_pair(struct env_lock *first)
{
    env_unlock(first);
    env_unlock(first + 1);
}

/* The simulator counts changes itself, and lets others run. */
static inline void env_stand_back(void)
{
}

static inline uint64_t env_load(const uint64_t *word)
{
    trk_hook_word(word, TRK_SIM_LOAD);
    return *word;
}

static inline void env_store(uint64_t *word, uint64_t value)
{
    trk_hook_word(word, *word != value ? TRK_SIM_STORE : TRK_SIM_LOAD);
    *word = value;
}

static inline uint64_t env_peek(const uint64_t *word)
{
    trk_hook_word(word, TRK_SIM_PEEK);
    return *word;
}

static inline void env_set_forever(uint64_t *word, uint64_t bits)
{
    trk_hook_word(word, TRK_SIM_SET);
    *word |= bits;
}

static inline bool env_peek_flag(const bool *flag)
{
    trk_hook_word(flag, TRK_SIM_PEEK);
    return *flag;
}

static inline void env_raise_flag(bool *flag)
{
    trk_hook_word(flag, TRK_SIM_SET);
    *flag = true;
}

static inline void env_pages_change(const struct region *region)
{
    trk_hook_pages(region, true);
}

static inline void env_pages_peek(const struct region *region)
{
    trk_hook_pages(region, false);
}

#endif
