/*
 * What a step touched, as sets of objects.
 *
 * Whoever reads or writes what threads share notes it, under a key that is the object's name. A
 * table gives keys their bits in the order in which they come; when all bits are given out, several
 * keys share one, which makes more steps dependent than are. What steps can wait for never shares:
 * it has the odd bits, the rest has the even ones, so that both begin in the first word.
 */
#ifndef SIMULATOR_FOOTPRINT_H
#define SIMULATOR_FOOTPRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FOOTPRINT_WORDS 16u
#define FOOTPRINT_BITS  (64u * FOOTPRINT_WORDS)

/* What a step had to wait for before it could run. */
enum footprint_need {
    NEED_NOTHING,
    NEED_LOCK,   /* nobody may hold it */
    NEED_OPENED, /* some step must have opened it; it stays open */
    NEED_CHANGE, /* some step must have touched it since the thread's last one */
};

struct footprint {
    uint64_t read[FOOTPRINT_WORDS], write[FOOTPRINT_WORDS];
    uint64_t take[FOOTPRINT_WORDS]; /* locks taken; written, too */
    uint16_t need_bit;              /* the object of the need */
    uint16_t open_bit;              /* opens: the object that was not open before */
    uint8_t need;
    bool opens;
    bool all;   /* depends on every step */
    bool stops; /* no step comes behind it */
};

static inline void footprint_bit(uint64_t *set, uint32_t bit)
{
    set[bit / 64] |= UINT64_C(1) << (bit % 64);
}

static inline bool footprint_has(const uint64_t *set, uint32_t bit)
{
    return set[bit / 64] >> (bit % 64) & 1;
}

/* Whether two steps of different threads depend on each other. */
static inline bool footprint_depend(const struct footprint *a, const struct footprint *b,
                                    uint32_t words)
{
    uint64_t both = a->write[0] & (b->read[0] | b->write[0]);
    both |= a->read[0] & b->write[0];
    for (uint32_t i = 1; i < words; i++)
        both |= (a->write[i] & (b->read[i] | b->write[i])) | (a->read[i] & b->write[i]);
    return both != 0 || a->all || b->all || a->stops || b->stops;
}

/* ---- keys ------------------------------------------------------------------------------------ */

enum footprint_kind {
    OBJECT_LOCK = 1, /* of the core */
    OBJECT_EVENT,
    OBJECT_MUTEX,
    OBJECT_CHANGE, /* what a thread that stands back waits for */
#define FOOTPRINT_NEED_LAST OBJECT_CHANGE
    OBJECT_CORE,       /* a word of the core's state */
    OBJECT_WATCHES,    /* of a region, with its rights */
    OBJECT_PAGE,       /* of the simulated host: by its number */
    OBJECT_BYTES,      /* of a frame */
    OBJECT_GENERATION, /* a name */
    OBJECT_SPACE,      /* who shows what where */
    OBJECT_MAPPINGS,   /* how many there are */
};

#define FOOTPRINT_KEYS  8192u /* places, a power of two */
#define FOOTPRINT_NEEDS (FOOTPRINT_BITS / 2)

/* Of a program: it lives as long as the search. */
struct footprint_table {
    uint64_t keys[FOOTPRINT_KEYS]; /* 0: free */
    uint16_t bits[FOOTPRINT_KEYS];
    uint32_t count, need_count;
    bool full; /* there were more things to wait for than bits */
};

static inline uint64_t footprint_key(enum footprint_kind kind, uint64_t which)
{
    return (uint64_t)kind << 56 | (which & ((UINT64_C(1) << 56) - 1));
}

/* How many words of the sets are in use. */
static inline uint32_t footprint_words(const struct footprint_table *table)
{
    uint32_t most = table->count > table->need_count ? table->count : table->need_count;
    return most < 32 ? 1 : (2 * most + 63) / 64;
}

/* Where notes go; footprint NULL: nobody wants them. One a process. */
struct footprint_notes {
    struct footprint *footprint;
    struct footprint_table *table;
};

extern struct footprint_notes footprint_notes;

void footprint_note_slow(uint64_t key, bool write);

static inline void footprint_reads(enum footprint_kind kind, uint64_t which)
{
    if (footprint_notes.footprint != NULL)
        footprint_note_slow(footprint_key(kind, which), false);
}

static inline void footprint_writes(enum footprint_kind kind, uint64_t which)
{
    if (footprint_notes.footprint != NULL)
        footprint_note_slow(footprint_key(kind, which), true);
}

/* A lock is taken, which is a write, too. */
void footprint_takes(enum footprint_kind kind, uint64_t which);
/* The step could run only because of this. */
void footprint_needs(enum footprint_need need, enum footprint_kind kind, uint64_t which);
/* Something that threads wait for is there, and was not before. */
void footprint_opens(enum footprint_kind kind, uint64_t which);

#endif
