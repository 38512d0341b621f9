/* Programs that are recorded to see what their events take: three mixes unlike the demo's. */
#ifndef TRK_BENCH_MIX_PROGRAMS_H
#define TRK_BENCH_MIX_PROGRAMS_H

struct bench_mix {
    const char *name; /* ended by an entry whose name is NULL */
    const char *about;
    int (*run)(void); /* in the recorded process; 0, or 1 after a line on stderr */
};

extern const struct bench_mix bench_mixes[];

#endif
