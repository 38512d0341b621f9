/*
 * Loading a plug-in, and which core is in force.
 */
#include "simulator/core.h"

#include <dlfcn.h>
#include <elf.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "core_plugin.h"

#define OWN_WAYS                                                                                   \
    {                                                                                              \
        .inside = true, .returns = true, .knows = true                                             \
    }
struct core_ways core_ways = OWN_WAYS;

enum trk_status core_renew(struct trk_tracker *tracker, bool abandon)
{
    if (abandon)
        core_plugin_abandon(tracker);
    return core_plugin_renew(tracker);
}

void core_abandon(struct trk_tracker *tracker)
{
    core_plugin_abandon(tracker);
}

/* Traces are read with libtrack's own core, whatever scenarios run against. */
static bool traces_spared;

bool core_is_trackers_own(void)
{
    return core_foreign() && !traces_spared;
}

bool core_is_plugin(void)
{
    return core_table != NULL;
}

void trk_core_spare_traces(void)
{
    core_live = &core_own_live;
    traces_spared = true;
}

void core_put_aside(bool aside)
{
    static struct {
        const struct trk_core_table *table;
        const struct core_calls *sim;
        const struct core_insides *insides;
        const char *build;
        struct core_ways ways;
    } kept;
    if (aside == (kept.table != NULL) || (aside && core_table == NULL))
        return;
    if (!aside) {
        core_table = kept.table;
        core_sim = kept.sim;
        core_insides = kept.insides;
        core_build = kept.build;
        core_ways = kept.ways;
        kept.table = NULL;
        return;
    }
    kept.table = core_table;
    kept.sim = core_sim;
    kept.insides = core_insides;
    kept.build = core_build;
    kept.ways = core_ways;
    core_table = NULL;
    core_sim = &core_own_simulated;
    core_insides = &core_own_insides;
    core_build = core_own_build;
    core_ways = (struct core_ways)OWN_WAYS;
}

bool core_has(enum trk_op op)
{
    const struct trk_core_table *table = core_table;
    if (table == NULL || traces_spared)
        return true;
    switch (op) {
    case TRK_OP_IS_CPU:
        return table->is_cpu != NULL;
    case TRK_OP_IS_GPU:
        return table->is_gpu != NULL;
    case TRK_OP_MARK_CPU:
        return table->mark_cpu != NULL;
    case TRK_OP_MARK_GPU:
        return table->mark_gpu != NULL;
    case TRK_OP_UNMARK_GPU:
        return table->unmark_gpu != NULL;
    case TRK_OP_UNTRACK:
        return table->untrack != NULL;
    case TRK_OP_DRAIN:
        return table->drain != NULL || table->mark_cpu != NULL;
    default:
        return true;
    }
}

const char *core_cannot_follow(bool snapshot)
{
    return core_table != NULL && !traces_spared && snapshot
               ? "the trace begins with a snapshot, which no plug-in can take"
               : NULL;
}

/* ---- loading --------------------------------------------------------------------------------- */

/* What must be there and is not; NULL: nothing. */
static const char *missing(const struct trk_core_table *table)
{
    const struct {
        const char *name;
        bool there;
    } needed[] = {
        {"name", table->name != NULL},
        {"build", table->build != NULL},
        {"create", table->create != NULL},
        {"destroy", table->destroy != NULL},
        {"page", table->page != NULL},
        {"fault", table->fault != NULL},
        {"upload", table->upload != NULL},
        {"download", table->download != NULL},
        {"invalidate", table->invalidate != NULL},
    };
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
        if (!needed[i].there)
            return needed[i].name;
    return NULL;
}

/* An older plug-in's table is shorter: what it does not have is not there. */
static struct trk_core_table table_of_plugin;

static enum trk_status accept(const struct trk_core_table *table, struct trk_error *error)
{
    if (table == NULL)
        return trk_error_set(error, TRK_E_UNSUPPORTED,
                             "the plug-in refuses this host (plug-in interface %u)", TRK_CORE_ABI);
    if (table->size < offsetof(struct trk_core_table, features))
        return trk_error_set(error, TRK_E_UNSUPPORTED, "the plug-in's table is of %zu bytes",
                             table->size);
    if (table->abi != TRK_CORE_ABI)
        return trk_error_set(error, TRK_E_UNSUPPORTED,
                             "the plug-in has version %u of the interface, this program %u",
                             table->abi, TRK_CORE_ABI);
    memcpy(&table_of_plugin, table,
           table->size < sizeof *table ? table->size : sizeof table_of_plugin);
    const char *lacks = missing(&table_of_plugin);
    if (lacks != NULL)
        return trk_error_set(error, TRK_E_UNSUPPORTED, "the plug-in's table has no %s", lacks);
    if (table_of_plugin.state != NULL && table_of_plugin.state->size < sizeof *table->state)
        return trk_error_set(error, TRK_E_UNSUPPORTED, "the plug-in's state is of %zu bytes",
                             table_of_plugin.state->size);
    return TRK_OK;
}

static void take(void)
{
    static char build[9];
    const char *its = table_of_plugin.build;
    size_t length = strlen(its);
    if (length == 8 && strspn(its, "0123456789abcdef") == 8)
        memcpy(build, its, 8);
    else
        snprintf(build, sizeof build, "%08x", (unsigned)XXH32(its, length, 0));
    core_table = &table_of_plugin;
    core_build = build;
    core_sim = core_live = &core_plugin_calls;
    core_insides = &core_plugin_insides;
    bool state = table_of_plugin.state != NULL;
    core_ways = (struct core_ways){
        .inside = table_of_plugin.features & TRK_CORE_LOCKS,
        .returns = state,
        .knows = state || table_of_plugin.digest != NULL,
        .open_loads = table_of_plugin.features & TRK_CORE_OPEN_LOADS,
    };
}

/* Whether a file of ELF lacks bytes that it says it has: touching them would be a SIGBUS. */
static bool cut_short(const char *path, uint64_t size_bytes)
{
    Elf64_Ehdr head;
    FILE *file = fopen(path, "rbe");
    bool cut = false;
    if (file == NULL)
        return false; /* dlopen() says why */
    if (fread(&head, sizeof head, 1, file) == 1 && memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 &&
        head.e_ident[EI_CLASS] == ELFCLASS64 && head.e_phentsize == sizeof(Elf64_Phdr)) {
        bool there = head.e_phoff <= INT64_MAX && fseek(file, (long)head.e_phoff, SEEK_SET) == 0;
        cut = !there;
        for (unsigned i = 0; i < head.e_phnum && !cut; i++) {
            Elf64_Phdr part;
            uint64_t end;
            cut =
                fread(&part, sizeof part, 1, file) != 1 ||
                (part.p_type == PT_LOAD &&
                 (__builtin_add_overflow(part.p_offset, part.p_filesz, &end) || end > size_bytes));
        }
    }
    fclose(file);
    return cut;
}

enum trk_status trk_core_load(const char *path, struct trk_error *error)
{
    if (core_table != NULL)
        return trk_error_set(error, TRK_E_EXISTS, "a plug-in is loaded already");
    /* Without a slash dlopen() looks in the system's folders, and takes "" for the program. */
    char here[PATH_MAX];
    int length = snprintf(here, sizeof here, "%s%s", strchr(path, '/') == NULL ? "./" : "", path);
    struct stat stat_of;
    if (length < 0 || (size_t)length >= sizeof here)
        return trk_error_set(error, TRK_E_UNSUPPORTED, "a path too long");
    if (stat(here, &stat_of) == 0 && !S_ISREG(stat_of.st_mode))
        return trk_error_set(error, TRK_E_UNSUPPORTED, "no regular file");
    if (stat(here, &stat_of) == 0 && cut_short(here, (uint64_t)stat_of.st_size))
        return trk_error_set(error, TRK_E_UNSUPPORTED, "the file is cut short");
    void *object = dlopen(here, RTLD_NOW | RTLD_LOCAL);
    if (object == NULL)
        return trk_error_set(error, TRK_E_UNSUPPORTED, "%.120s", dlerror());
    /* POSIX wants a symbol's address to be a function's as well; C has no such cast. */
    trk_core_plugin_fn *entry = NULL;
    void *symbol = dlsym(object, TRK_CORE_SYMBOL);
    memcpy(&entry, &symbol, sizeof entry);
    enum trk_status status =
        entry == NULL ? trk_error_set(error, TRK_E_UNSUPPORTED,
                                      "it has no function " TRK_CORE_SYMBOL ": no plug-in")
                      : accept(entry(&core_plugin_host), error);
    if (status == TRK_OK)
        take(); /* it stays loaded */
    else
        dlclose(object);
    return status;
}

bool trk_core_about(struct trk_core_about *out)
{
    if (core_table == NULL)
        return false;
    *out = (struct trk_core_about){
        .inside = core_ways.inside,
        .events = !core_foreign(),
        .returns = core_ways.returns,
        .knows = core_ways.knows,
        .unseen = core_foreign() && (core_table->features & TRK_CORE_PAGE_LOCKS) != 0 &&
                  (core_table->features & TRK_CORE_LOCKS) == 0,
    };
    snprintf(out->name, sizeof out->name, "%.63s", core_table->name);
    snprintf(out->build, sizeof out->build, "%.63s", core_table->build);
    return true;
}
