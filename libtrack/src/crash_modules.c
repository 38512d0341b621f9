/*
 * Which modules are loaded where: the guest's as told, the host's as the dynamic linker had them.
 *
 * A table of segments that the handler reads without a lock. A segment is written while it is out
 * of use and published last; one that changes under a reader gives it a wrong name at worst.
 *
 * Rules: [M-61].
 */
#define _GNU_SOURCE
#include <link.h>
#include <pthread.h>
#include <string.h>

#include "crash_parts.h"

enum segment_owner { SEGMENT_FREE = 0, SEGMENT_GUEST, SEGMENT_HOST };

struct segment {
    uint32_t owner; /* enum segment_owner; stored last, with release */
    uint64_t base_addr, first_addr, size_bytes;
    char name[TRK_CRASH_NAME_BYTES];
};

static struct segment segments[TRK_CRASH_SEGMENTS_MAX];
static pthread_mutex_t change_mutex = PTHREAD_MUTEX_INITIALIZER;

static enum segment_owner owner_of(const struct segment *segment)
{
    return (enum segment_owner)__atomic_load_n(&segment->owner, __ATOMIC_ACQUIRE);
}

static void set_owner(struct segment *segment, enum segment_owner owner)
{
    __atomic_store_n(&segment->owner, (uint32_t)owner, __ATOMIC_RELEASE);
}

/* The end of a name says more than the beginning of a long path. */
static void copy_name(char *to, const char *name)
{
    size_t length = strlen(name);
    if (length >= TRK_CRASH_NAME_BYTES)
        name += length - (TRK_CRASH_NAME_BYTES - 1);
    for (; *name != '\0'; name++)
        *to++ = *name >= ' ' && *name < 127 ? *name : '?';
    *to = '\0';
}

/* With the mutex held. */
static bool add(const struct segment *wanted, const char *name, enum segment_owner owner)
{
    for (size_t i = 0; i < TRK_CRASH_SEGMENTS_MAX; i++) {
        struct segment *segment = &segments[i];
        if (owner_of(segment) != SEGMENT_FREE)
            continue;
        segment->base_addr = wanted->base_addr;
        segment->first_addr = wanted->first_addr;
        segment->size_bytes = wanted->size_bytes;
        copy_name(segment->name, name);
        set_owner(segment, owner);
        return true;
    }
    return false;
}

enum trk_status trk_crash_module_add(const char *name, uint64_t base_addr, uint64_t first_addr,
                                     uint64_t size_bytes)
{
    struct segment wanted = {
        .base_addr = base_addr, .first_addr = first_addr, .size_bytes = size_bytes};
    if (name == NULL || size_bytes == 0 || first_addr + size_bytes < first_addr)
        return TRK_E_ARGUMENT;
    pthread_mutex_lock(&change_mutex);
    bool added = add(&wanted, name, SEGMENT_GUEST);
    pthread_mutex_unlock(&change_mutex);
    return added ? TRK_OK : TRK_E_MEMORY;
}

void trk_crash_module_remove(uint64_t base_addr)
{
    pthread_mutex_lock(&change_mutex);
    for (size_t i = 0; i < TRK_CRASH_SEGMENTS_MAX; i++) {
        if (owner_of(&segments[i]) == SEGMENT_GUEST && segments[i].base_addr == base_addr)
            set_owner(&segments[i], SEGMENT_FREE);
    }
    pthread_mutex_unlock(&change_mutex);
}

/* One of the host's modules; without a name it is the program itself. */
static int note_module(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    const char *name = info->dlpi_name[0] != '\0' ? info->dlpi_name : "(program)";
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        struct segment wanted = {.base_addr = info->dlpi_addr,
                                 .first_addr = info->dlpi_addr + header->p_vaddr,
                                 .size_bytes = header->p_memsz};
        if (header->p_type == PT_LOAD && header->p_memsz > 0 && !add(&wanted, name, SEGMENT_HOST))
            return 1; /* the table is full */
    }
    return 0;
}

void trk_crash_modules_refresh(void)
{
    pthread_mutex_lock(&change_mutex);
    for (size_t i = 0; i < TRK_CRASH_SEGMENTS_MAX; i++) {
        if (owner_of(&segments[i]) == SEGMENT_HOST)
            set_owner(&segments[i], SEGMENT_FREE);
    }
    (void)dl_iterate_phdr(note_module, NULL);
    pthread_mutex_unlock(&change_mutex);
}

bool trk_crash_module_find(uint64_t host_addr, struct crash_place *out)
{
    for (size_t i = 0; i < TRK_CRASH_SEGMENTS_MAX; i++) {
        const struct segment *segment = &segments[i];
        if (owner_of(segment) == SEGMENT_FREE ||
            host_addr - segment->first_addr >= segment->size_bytes)
            continue;
        memcpy(out->module, segment->name, sizeof out->module);
        out->module[sizeof out->module - 1] = '\0';
        out->offset_bytes = host_addr - segment->base_addr;
        return true;
    }
    return false;
}
