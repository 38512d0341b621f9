/*
 * One chunk of a file at a time: its header, its payload, its checksums, and the next one after a
 * damaged place.
 *
 * Memory is taken only after the header's checksum was right and its sizes are within the limits
 * and the file. Rules: [F-3] [F-6] to [F-12].
 */
#ifndef RECORDER_UNPACK_H
#define RECORDER_UNPACK_H

#include "format.h"
#include "source.h"

struct trk_unpack {
    const struct trk_source *source; /* the caller's */
    uint8_t sync[TRK_FORMAT_SYNC_BYTES];
    uint8_t *body; /* summary and payload as in the file */
    size_t body_room;
    uint8_t *packed;   /* in body: the payload of the last trk_unpack_check */
    bool summary_good; /* in body: the summary before it is undamaged, or there is none */
    uint8_t *raw;      /* uncompressed, of the last trk_unpack_payload */
    size_t raw_room;
    void *zstd;
};

/* Read the file header of a source. TRK_E_DAMAGED, TRK_E_VERSION, TRK_E_SYSTEM. */
TRK_MUST_USE enum trk_status trk_unpack_file(const struct trk_source *source,
                                             struct trk_format_file *file, struct trk_error *error);

TRK_MUST_USE enum trk_status trk_unpack_init(struct trk_unpack *unpack,
                                             const struct trk_source *source, const uint8_t *sync);
void trk_unpack_deinit(struct trk_unpack *unpack);

/*
 * The next three give TRK_OK; TRK_E_INCOMPLETE: the file ends before its end; TRK_E_DAMAGED: a
 * checksum or size is wrong; TRK_E_MEMORY; TRK_E_SYSTEM.
 */

/* Whether a status means that the place in the file is bad, and not the world. */
static inline bool trk_unpack_is_damage(enum trk_status status)
{
    return status == TRK_E_DAMAGED || status == TRK_E_INCOMPLETE;
}

/* Read the chunk header at an offset. */
TRK_MUST_USE enum trk_status trk_unpack_header(struct trk_unpack *unpack, uint64_t offset,
                                               struct trk_format_chunk *chunk,
                                               struct trk_error *error);
/*
 * [F-9] [F-10] Whether this reader must stop at the chunk at an offset, having no way to know what
 * it says. TRK_OK, TRK_E_VERSION.
 */
TRK_MUST_USE enum trk_status
trk_unpack_refuse(uint64_t offset, const struct trk_format_chunk *chunk, struct trk_error *error);
/*
 * Read summary and payload of the chunk at an offset, whose header this is, and try their CRCs. A
 * bad summary is no bad chunk: see summary_good.
 */
TRK_MUST_USE enum trk_status trk_unpack_check(struct trk_unpack *unpack, uint64_t offset,
                                              const struct trk_format_chunk *chunk,
                                              struct trk_error *error);
/* Read its summary alone, into `body`. */
TRK_MUST_USE enum trk_status trk_unpack_summary(struct trk_unpack *unpack, uint64_t offset,
                                                const struct trk_format_chunk *chunk,
                                                struct trk_error *error);
/* And unpack it into `raw`, which is then chunk->raw_bytes long. */
TRK_MUST_USE enum trk_status trk_unpack_payload(struct trk_unpack *unpack, uint64_t offset,
                                                const struct trk_format_chunk *chunk,
                                                struct trk_error *error);

/**
 * Find the first undamaged chunk header or end mark at or behind an offset.
 *
 * @return TRK_OK; TRK_E_END: there is none; TRK_E_SYSTEM.
 */
TRK_MUST_USE enum trk_status trk_unpack_find(struct trk_unpack *unpack, uint64_t offset,
                                             uint64_t *found, struct trk_error *error);

/**
 * Find the last undamaged chunk of a kind, backwards from the end of the file, not further than so
 * many bytes. Its payload is in `raw` then.
 *
 * @return TRK_OK; TRK_E_END: there is none; TRK_E_MEMORY; TRK_E_SYSTEM.
 */
TRK_MUST_USE enum trk_status trk_unpack_find_last(struct trk_unpack *unpack, uint8_t kind,
                                                  uint64_t most_bytes, uint64_t *found,
                                                  struct trk_format_chunk *chunk,
                                                  struct trk_error *error);

/* Read the end mark at an offset, if there is one. TRK_OK, TRK_E_END, TRK_E_SYSTEM. */
TRK_MUST_USE enum trk_status trk_unpack_end(struct trk_unpack *unpack, uint64_t offset,
                                            struct trk_format_end *end, struct trk_error *error);

#endif
