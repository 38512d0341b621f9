/*
 * The table of what is mapped.
 */
#include <stdlib.h>
#include <string.h>

#include "space.h"

struct space_table *trk_space_table_create(size_t capacity)
{
    struct space_table *table = malloc(sizeof *table);
    if (table == NULL)
        return NULL;
    *table = (struct space_table){.pieces = malloc((capacity + 1) * sizeof *table->pieces)};
    if (table->pieces == NULL) {
        free(table);
        return NULL;
    }
    return table;
}

void trk_space_table_destroy(struct space_table *table)
{
    if (table == NULL)
        return;
    free(table->pieces);
    free(table);
}

size_t trk_space_table_search(const struct space_table *table, uint64_t guest_addr)
{
    size_t low = 0, high = table->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (table->pieces[middle].end_addr <= guest_addr)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The part of a piece inside a range; false: none. */
static bool piece_cut(const struct space_piece *piece, uint64_t first_addr, uint64_t end_addr,
                      struct space_piece *out)
{
    *out = *piece;
    if (out->first_addr < first_addr) {
        if (out->kind != TRK_SPACE_RESERVED)
            out->physical += first_addr - out->first_addr;
        out->first_addr = first_addr;
    }
    if (out->end_addr > end_addr)
        out->end_addr = end_addr;
    return out->first_addr < out->end_addr;
}

bool trk_space_table_next(const struct space_table *table, size_t *at, uint64_t first_addr,
                          uint64_t end_addr, struct space_piece *out)
{
    return *at < table->count && piece_cut(&table->pieces[(*at)++], first_addr, end_addr, out);
}

bool trk_space_piece_goes_on(const struct space_piece *piece, const struct space_piece *next)
{
    uint64_t physical = 0;
    if (piece->kind != TRK_SPACE_RESERVED)
        physical = piece->physical + (piece->end_addr - piece->first_addr);
    return piece->end_addr == next->first_addr && piece->kind == next->kind &&
           piece->rights == next->rights && piece->is_private == next->is_private &&
           next->physical == physical;
}

/* Append a piece, as a part of the last one where it goes on in the same mapping. */
static void table_add(struct space_table *table, const struct space_piece *piece)
{
    struct space_piece *last = table->count > 0 ? &table->pieces[table->count - 1] : NULL;
    if (last != NULL && trk_space_piece_goes_on(last, piece) &&
        last->mapping_first == piece->mapping_first && last->mapping_end == piece->mapping_end)
        last->end_addr = piece->end_addr;
    else
        table->pieces[table->count++] = *piece;
}

struct space_table *trk_space_table_replace(const struct space_table *table, uint64_t first_addr,
                                            uint64_t end_addr, const struct space_piece *pieces,
                                            size_t count)
{
    struct space_table *made = trk_space_table_create(table->count + count + 1);
    if (made == NULL)
        return NULL;
    struct space_piece part;
    for (size_t i = 0; i < table->count; i++) {
        if (piece_cut(&table->pieces[i], 0, first_addr, &part))
            table_add(made, &part);
    }
    for (size_t i = 0; i < count; i++)
        table_add(made, &pieces[i]);
    for (size_t i = 0; i < table->count; i++) {
        if (piece_cut(&table->pieces[i], end_addr, UINT64_MAX, &part))
            table_add(made, &part);
    }
    return made;
}

bool trk_space_table_all(const struct space_table *table, uint64_t first_addr, uint64_t end_addr,
                         unsigned kinds)
{
    uint64_t at = first_addr;
    FOR_PIECES(piece, table, first_addr, end_addr)
    {
        if (piece.first_addr != at || !(kinds >> piece.kind & 1))
            return false;
        at = piece.end_addr;
    }
    return at == end_addr;
}

bool trk_space_table_none(const struct space_table *table, uint64_t first_addr, uint64_t end_addr,
                          unsigned kinds)
{
    FOR_PIECES(piece, table, first_addr, end_addr)
    {
        if (kinds >> piece.kind & 1)
            return false;
    }
    return true;
}
