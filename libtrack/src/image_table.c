/*
 * A table of three levels, 1024 entries each: 30 bits of page number.
 *
 * Levels are made when something in them is set, published with release, read with acquire, and
 * stay until the table goes.
 */
#include "track/image_table.h"

#include <stdlib.h>

#include "track/address.h"

#define LEVEL_BITS    10u
#define LEVEL_ENTRIES (1u << LEVEL_BITS)
#define ADDRESS_END   (UINT64_C(1) << TRK_IMAGE_ADDRESS_BITS)
#define PAGE_BITS     14u

struct leaf {
    uint64_t value[LEVEL_ENTRIES];
};

struct branch {
    struct leaf *leaf[LEVEL_ENTRIES];
};

struct trk_image_table {
    struct branch *branch[LEVEL_ENTRIES];
};

enum trk_status trk_image_table_create(struct trk_image_table **out, struct trk_error *error)
{
    struct trk_image_table *table = calloc(1, sizeof *table);
    if (table == NULL)
        return trk_error_set(error, TRK_E_MEMORY, "no memory for an image table");
    *out = table;
    return TRK_OK;
}

void trk_image_table_destroy(struct trk_image_table *table)
{
    if (table == NULL)
        return;
    for (uint32_t i = 0; i < LEVEL_ENTRIES; i++) {
        for (uint32_t k = 0; table->branch[i] != NULL && k < LEVEL_ENTRIES; k++)
            free(table->branch[i]->leaf[k]);
        free(table->branch[i]);
    }
    free(table);
}

static uint32_t entry(uint64_t page, unsigned level)
{
    return (uint32_t)(page >> (level * LEVEL_BITS)) & (LEVEL_ENTRIES - 1);
}

static const struct branch *branch_of(const struct trk_image_table *table, uint64_t page)
{
    return __atomic_load_n(&table->branch[entry(page, 2)], __ATOMIC_ACQUIRE);
}

static struct leaf *leaf_of(const struct trk_image_table *table, uint64_t page)
{
    const struct branch *branch = branch_of(table, page);
    return branch == NULL ? NULL : __atomic_load_n(&branch->leaf[entry(page, 1)], __ATOMIC_ACQUIRE);
}

static struct leaf *leaf_make(struct trk_image_table *table, uint64_t page)
{
    struct branch *branch = table->branch[entry(page, 2)];
    if (branch == NULL) {
        branch = calloc(1, sizeof *branch);
        __atomic_store_n(&table->branch[entry(page, 2)], branch, __ATOMIC_RELEASE);
    }
    if (branch == NULL)
        return NULL;
    struct leaf *leaf = branch->leaf[entry(page, 1)];
    if (leaf == NULL) {
        leaf = calloc(1, sizeof *leaf);
        __atomic_store_n(&branch->leaf[entry(page, 1)], leaf, __ATOMIC_RELEASE);
    }
    return leaf;
}

/* The first page of the next leaf, or of the next branch where there is none. */
static uint64_t skip(const struct trk_image_table *table, uint64_t page)
{
    unsigned bits = branch_of(table, page) == NULL ? 2 * LEVEL_BITS : LEVEL_BITS;
    return ((page >> bits) + 1) << bits;
}

enum trk_status trk_image_table_set(struct trk_image_table *table, uint64_t guest_addr,
                                    uint64_t size_bytes, uint64_t value)
{
    if (size_bytes == 0 || guest_addr >= ADDRESS_END || size_bytes > ADDRESS_END - guest_addr)
        return TRK_E_RANGE;
    uint64_t last = (guest_addr + size_bytes - 1) >> PAGE_BITS;
    for (uint64_t page = guest_addr >> PAGE_BITS; page <= last;) {
        struct leaf *leaf = leaf_of(table, page);
        if (leaf == NULL && value == 0) {
            page = skip(table, page);
            continue;
        }
        if (leaf == NULL)
            leaf = leaf_make(table, page);
        if (leaf == NULL)
            return TRK_E_MEMORY;
        __atomic_store_n(&leaf->value[entry(page, 0)], value, __ATOMIC_RELEASE);
        page++;
    }
    return TRK_OK;
}

uint64_t trk_image_table_get(const struct trk_image_table *table, uint64_t guest_addr)
{
    if (guest_addr >= ADDRESS_END)
        return 0;
    const struct leaf *leaf = leaf_of(table, guest_addr >> PAGE_BITS);
    if (leaf == NULL)
        return 0;
    return __atomic_load_n(&leaf->value[entry(guest_addr >> PAGE_BITS, 0)], __ATOMIC_ACQUIRE);
}

uint64_t trk_image_table_next(const struct trk_image_table *table, uint64_t guest_addr,
                              uint64_t end_addr)
{
    uint64_t limit = end_addr < ADDRESS_END ? end_addr : ADDRESS_END;
    if (guest_addr >= limit)
        return end_addr;
    uint64_t last = (limit - 1) >> PAGE_BITS;
    for (uint64_t page = guest_addr >> PAGE_BITS; page <= last;) {
        const struct leaf *leaf = leaf_of(table, page);
        if (leaf == NULL) {
            page = skip(table, page);
            continue;
        }
        if (__atomic_load_n(&leaf->value[entry(page, 0)], __ATOMIC_ACQUIRE) != 0)
            return page << PAGE_BITS > guest_addr ? page << PAGE_BITS : guest_addr;
        page++;
    }
    return end_addr;
}
