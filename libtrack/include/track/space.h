/*
 * The guest address space and the memory behind it.
 *
 * One shared memory object holds all bytes of the guest: direct memory, which the guest names by
 * physical offsets, and a pool of flexible memory, which it does not. The emulator has a permanent
 * read-write alias of it. Guest mappings are fixed shared mappings of pieces of the object at
 * guest address + host bias; where nothing is mapped an inaccessible placeholder stands, never a
 * hole that something else could fall into.
 *
 * The space tells its tracker: a mapping is made closed and opened through the page manager, so
 * that watches are in force from its first moment; two mappings of one physical page are joined as
 * views; guest rights and host rights are kept apart. Registering bytes with the GPU is the
 * owner's.
 *
 * A change either happens as a whole or not at all: whatever step fails, those before it are
 * undone, no byte is lost and no mapping left over. Changes exclude each other; readers (query,
 * read, write, sparse_read) share a lock that a change takes only to publish what it has done, so
 * that they may be called from a tracker's callbacks. Changes may not. The fault path takes no lock
 * of the space.
 *
 * Statuses of all changes, beside those named: TRK_E_RANGE (not inside one owned range),
 * TRK_E_ARGUMENT (not aligned to 4 KiB, unknown rights), TRK_E_MEMORY, TRK_E_SYSTEM (a host call
 * failed) and TRK_E_PROTECT (in the tracker's name): all as before.
 *
 * Rules: [M-76] to [M-82].
 */
#ifndef TRACK_SPACE_H
#define TRACK_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "track/status.h"
#include "track/tracker.h"

TRK_EXTERN_C_BEGIN

struct trk_space;

/* A piece of the object at a place of the host's. */
struct trk_space_placement {
    uint64_t host_addr, size_bytes;
    int fd;
    uint64_t physical_offset;
    unsigned rights; /* TRK_RIGHT_*, of the host */
};

/*
 * What the space asks of the host; each gives 0 or an errno value. A table, so that tests and
 * sandboxes can stand between.
 */
struct trk_space_host {
    /* A shared memory object of a size, all zeros; gives a descriptor. */
    int (*open)(void *context, uint64_t size_bytes, int *fd);
    /* A mapping of the whole object, read-write, anywhere. */
    int (*alias)(void *context, int fd, uint64_t size_bytes, void **out);
    /* An inaccessible placeholder where nothing is mapped yet: EEXIST otherwise. */
    int (*reserve)(void *context, uint64_t host_addr, uint64_t size_bytes);
    /* A shared mapping of a piece of the object, over whatever is there. */
    int (*map)(void *context, const struct trk_space_placement *placement);
    /* A placeholder over whatever is there. */
    int (*close)(void *context, uint64_t host_addr, uint64_t size_bytes);
    int (*unmap)(void *context, uint64_t host_addr, uint64_t size_bytes);
    /* Make bytes of the object zeros again and give their memory back. */
    int (*forget)(void *context, int fd, uint64_t physical_offset, uint64_t size_bytes);
    void *context;
};

/* The host itself: memfd_create, mmap, fallocate. */
struct trk_space_host trk_space_host_default(void);

struct trk_space_options {
    size_t size;                 /* sizeof(struct trk_space_options) */
    struct trk_tracker *tracker; /* not NULL; outlives the space; its backend gives the host bias */
    uint64_t direct_bytes, flexible_bytes; /* multiples of 16 KiB; not both 0 */
    struct trk_space_host host;
};

/* 256 MiB of each kind, the default host; the caller sets tracker. Memory is taken when touched. */
struct trk_space_options trk_space_options_default(void);

/**
 * Create a space that owns no addresses yet.
 *
 * @return TRK_OK, TRK_E_ARGUMENT, TRK_E_MEMORY, TRK_E_SYSTEM.
 */
TRK_MUST_USE enum trk_status trk_space_create(struct trk_space **out,
                                              const struct trk_space_options *options,
                                              struct trk_error *error);
/* Unmap everything, placeholders too. NULL is accepted. No other thread may be in the space. */
void trk_space_destroy(struct trk_space *space);

/**
 * Own a range of guest addresses from now on: a placeholder covers it, and the tracker knows that
 * the guest has no rights there. That takes the tracker's memory for every region of the range,
 * less than 2 KiB for 4 MiB of addresses.
 *
 * @return TRK_E_EXISTS  something of the process stands there, or the range is owned already.
 */
TRK_MUST_USE enum trk_status trk_space_own(struct trk_space *space, uint64_t guest_addr,
                                           uint64_t size_bytes, struct trk_error *error);

/* Take direct memory: a physical offset, lowest first. alignment: a power of two from 16 KiB. */
TRK_MUST_USE enum trk_status trk_space_allocate(struct trk_space *space, uint64_t size_bytes,
                                                uint64_t alignment_bytes, uint64_t *physical_offset,
                                                struct trk_error *error);
/* Give it back: all its mappings are unmapped first, its bytes are gone. 16 KiB multiples. */
TRK_MUST_USE enum trk_status trk_space_release(struct trk_space *space, uint64_t physical_offset,
                                               uint64_t size_bytes, struct trk_error *error);

enum trk_space_kind {
    TRK_SPACE_HOLE = 0,     /* owned, nothing there */
    TRK_SPACE_RESERVED = 1, /* taken, not backed: closed until committed */
    TRK_SPACE_DIRECT = 2,   /* bytes at a physical offset that was allocated */
    TRK_SPACE_FLEXIBLE = 3, /* bytes of the pool: fresh zeros */
};

struct trk_space_map {
    size_t size;              /* sizeof(struct trk_space_map) */
    enum trk_space_kind kind; /* DIRECT or FLEXIBLE */
    uint64_t guest_addr, size_bytes;
    uint64_t physical_offset; /* DIRECT */
    unsigned rights;          /* TRK_RIGHT_* of the guest */
    bool fixed;               /* over whatever is mapped or reserved there */
    bool is_private;          /* not for sparse reads: stack, code, the emulator's own */
};

/**
 * Map memory. A mapping that is there already, the same in everything, is kept as it is.
 *
 * @return TRK_E_EXISTS  something is mapped or reserved there, and not `fixed`;
 *         TRK_E_ARGUMENT  the physical range is not allocated, or a frame would have more than
 *                         TRK_VIEWS_MAX views; TRK_E_MEMORY  the pool is used up.
 */
TRK_MUST_USE enum trk_status trk_space_map(struct trk_space *space, const struct trk_space_map *map,
                                           struct trk_error *error);
/* Take free addresses without backing. TRK_E_EXISTS: something is there. */
TRK_MUST_USE enum trk_status trk_space_reserve(struct trk_space *space, uint64_t guest_addr,
                                               uint64_t size_bytes, struct trk_error *error);
/* Back reserved pages with flexible memory. TRK_E_ARGUMENT: a page is not reserved. */
TRK_MUST_USE enum trk_status trk_space_commit(struct trk_space *space, uint64_t guest_addr,
                                              uint64_t size_bytes, unsigned rights,
                                              struct trk_error *error);
/* Unmap, also a part. TRK_E_ARGUMENT: a page is neither mapped nor reserved. */
TRK_MUST_USE enum trk_status trk_space_unmap(struct trk_space *space, uint64_t guest_addr,
                                             uint64_t size_bytes, struct trk_error *error);
/* Change the guest's rights. TRK_E_ARGUMENT: a page is not mapped. */
TRK_MUST_USE enum trk_status trk_space_protect(struct trk_space *space, uint64_t guest_addr,
                                               uint64_t size_bytes, unsigned rights,
                                               struct trk_error *error);

/* What is around an address: the whole stretch of one kind, rights and consecutive memory. */
struct trk_space_stretch {
    enum trk_space_kind kind;
    uint64_t guest_addr, size_bytes;
    uint64_t physical_offset; /* DIRECT */
    unsigned rights;
    bool is_private;
};

/* TRK_E_RANGE: not owned. */
TRK_MUST_USE enum trk_status trk_space_query(struct trk_space *space, uint64_t guest_addr,
                                             struct trk_space_stretch *out);

/*
 * Copy bytes through the emulator's alias, past all protection. The whole range must be mapped:
 * TRK_E_RANGE otherwise, and neither side has changed. Nobody is told: see trk_space_sys_prepare.
 */
TRK_MUST_USE enum trk_status trk_space_read(struct trk_space *space, uint64_t guest_addr, void *out,
                                            uint64_t size_bytes);
TRK_MUST_USE enum trk_status trk_space_write(struct trk_space *space, uint64_t guest_addr,
                                             const void *bytes, uint64_t size_bytes);
/*
 * Read owned addresses that may have holes, which read as zeros. TRK_E_RANGE: a byte is not owned
 * or private, and nothing was written to out.
 */
TRK_MUST_USE enum trk_status trk_space_sparse_read(struct trk_space *space, uint64_t guest_addr,
                                                   void *out, uint64_t size_bytes);

/* Where the emulator sees a mapped byte; NULL: not mapped. Good until it is unmapped. */
void *trk_space_alias(struct trk_space *space, uint64_t guest_addr);

/**
 * Make a range ready for the kernel, which raises no fault: before read(2) into it
 * (TRK_ACCESS_WRITE), or write(2) from it (TRK_ACCESS_READ).
 *
 * Pages are released and marked as an access of the guest's would, in all views, and generations
 * are told of a write. Another thread may take a page anew before the system call runs: then the
 * call comes back short or with EFAULT, and is prepared again from there.
 *
 * @return TRK_OK; TRK_E_RANGE (not mapped); TRK_E_ARGUMENT (the guest's own rights forbid it);
 *         TRK_E_UNSUPPORTED (a watch that is not the tracker's keeps a page closed); or what the
 *         flush or an invalidate gives.
 *
 * Blocks: on region locks and in the resource layer.
 */
TRK_MUST_USE enum trk_status trk_space_sys_prepare(struct trk_space *space, uint64_t guest_addr,
                                                   uint64_t size_bytes, enum trk_access access);

TRK_EXTERN_C_END

#endif
