#include "vk_loader.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

/* dlsym gives an object pointer; POSIX promises that its bits are a function's. */
static PFN_vkGetInstanceProcAddr loader_symbol(void *library, const char *name)
{
    void *symbol = dlsym(library, name);
    PFN_vkGetInstanceProcAddr function = NULL;
    _Static_assert(sizeof function == sizeof symbol, "function and object pointers differ");
    memcpy(&function, &symbol, sizeof function);
    return function;
}

enum trk_status trk_vk_loader_open(struct trk_vk_api *api, struct trk_error *error)
{
    memset(api, 0, sizeof *api);
    /* Never unmapped: drivers leave threads and thread-local destructors behind. */
    api->library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (api->library == NULL) {
        return trk_error_set(error, TRK_E_UNSUPPORTED, "no Vulkan: libvulkan.so.1 is not there");
    }
    api->GetInstanceProcAddr = loader_symbol(api->library, "vkGetInstanceProcAddr");
    if (api->GetInstanceProcAddr != NULL) {
#define FIND(name) api->name = (PFN_vk##name)api->GetInstanceProcAddr(NULL, "vk" #name);
        TRK_VK_GLOBAL_CALLS(FIND)
#undef FIND
    }
    if (api->CreateInstance == NULL) {
        trk_vk_loader_close(api);
        return trk_error_set(error, TRK_E_UNSUPPORTED,
                             "no Vulkan: libvulkan.so.1 has no vkCreateInstance");
    }
    return TRK_OK;
}

void trk_vk_loader_close(struct trk_vk_api *api)
{
    if (api->library != NULL) {
        dlclose(api->library);
    }
    memset(api, 0, sizeof *api);
}

/* What an instance of Vulkan 1.0 lacks, and who needs it asks for more. */
static bool loader_newer(const char *name)
{
    return strcmp(name, "vkGetPhysicalDeviceProperties2") == 0 ||
           strcmp(name, "vkGetPhysicalDeviceFeatures2") == 0;
}

enum trk_status trk_vk_loader_instance(struct trk_vk_api *api, VkInstance instance,
                                       struct trk_error *error)
{
    const char *missing = NULL;
#define FIND(name)                                                                                 \
    api->name = (PFN_vk##name)api->GetInstanceProcAddr(instance, "vk" #name);                      \
    if (api->name == NULL && !loader_newer("vk" #name)) {                                          \
        missing = "vk" #name;                                                                      \
    }
    TRK_VK_INSTANCE_CALLS(FIND)
#undef FIND
    if (missing != NULL) {
        return trk_error_set(error, TRK_E_UNSUPPORTED, "the Vulkan loader has no %s", missing);
    }
    return TRK_OK;
}

/* A call of the device's, noted in `missing` where it has none. */
#define FIND_OF_DEVICE(name)                                                                       \
    api->name = (PFN_vk##name)api->GetDeviceProcAddr(device, "vk" #name);                          \
    if (api->name == NULL) {                                                                       \
        missing = "vk" #name;                                                                      \
    }

static enum trk_status none_missing(const char *missing, struct trk_error *error)
{
    return missing == NULL
               ? TRK_OK
               : trk_error_set(error, TRK_E_UNSUPPORTED, "the Vulkan device has no %s", missing);
}

enum trk_status trk_vk_loader_device(struct trk_vk_api *api, VkDevice device,
                                     struct trk_error *error)
{
    const char *missing = NULL;
    TRK_VK_DEVICE_CALLS(FIND_OF_DEVICE)
    return none_missing(missing, error);
}

enum trk_status trk_vk_loader_replay(struct trk_vk_api *api, VkDevice device,
                                     struct trk_error *error)
{
    const char *missing = NULL;
    TRK_VK_REPLAY_CALLS(FIND_OF_DEVICE)
#define FIND(name) api->name = (PFN_vk##name)api->GetDeviceProcAddr(device, "vk" #name);
    TRK_VK_OPTIONAL_CALLS(FIND)
#undef FIND
    return none_missing(missing, error);
}
