/*
 * Libtrack as a plug-in (CORE is its file) that takes no other pages than those of 16 KiB.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "simulator/core_plugin.h"

static const struct trk_core_table *inner;

static enum trk_core_status create(void **out, const struct trk_core_policy *policy,
                                   const struct trk_core_owner *owner)
{
    return policy->page_size_bytes == 16384 ? inner->create(out, policy, owner)
                                            : TRK_CORE_UNSUPPORTED;
}

const struct trk_core_table *trk_core_plugin(const struct trk_core_host *host)
{
    static struct trk_core_table table;
    trk_core_plugin_fn *entry = NULL;
    void *object = dlopen(CORE, RTLD_NOW | RTLD_LOCAL);
    void *symbol = object != NULL ? dlsym(object, TRK_CORE_SYMBOL) : NULL;
    memcpy(&entry, &symbol, sizeof entry);
    inner = entry != NULL ? entry(host) : NULL;
    if (inner == NULL)
        return NULL;
    table = *inner;
    table.create = create;
    return &table;
}
