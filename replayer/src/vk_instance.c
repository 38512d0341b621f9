#include "vk_instance.h"

#include "vk_internal.h"

enum trk_status trk_vk_instance_create(struct trk_vk_api *api, VkInstance *out,
                                       struct trk_error *error)
{
    *out = VK_NULL_HANDLE;
    uint32_t version = VK_API_VERSION_1_0;
    if (api->EnumerateInstanceVersion != NULL &&
        api->EnumerateInstanceVersion(&version) != VK_SUCCESS) {
        version = VK_API_VERSION_1_0;
    }
    if (version > VK_API_VERSION_1_2) {
        version = VK_API_VERSION_1_2; /* driver properties; nothing here needs more */
    }
    VkApplicationInfo application = {
        .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
        .pApplicationName = "trk",
        .apiVersion = version,
    };
    VkInstanceCreateInfo create = {
        .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
        .pApplicationInfo = &application,
    };
    VkResult result = api->CreateInstance(&create, NULL, out);
    if (result != VK_SUCCESS) {
        *out = VK_NULL_HANDLE;
    }
    if (result == VK_ERROR_INCOMPATIBLE_DRIVER) {
        return trk_error_set(error, TRK_E_UNSUPPORTED, "no Vulkan: there is no driver");
    }
    if (result != VK_SUCCESS) {
        return trk_vk_result(error, "vkCreateInstance", result);
    }
    return trk_vk_loader_instance(api, *out, error);
}

enum trk_status trk_vk_instance_devices(const struct trk_vk_api *api, VkInstance instance,
                                        VkPhysicalDevice *devices, uint32_t *count,
                                        uint32_t *in_all, struct trk_error *error)
{
    *count = 0;
    *in_all = 0;
    VkResult result = api->EnumeratePhysicalDevices(instance, in_all, NULL);
    if (result == VK_ERROR_INITIALIZATION_FAILED) { /* drivers without a device say so */
        *in_all = 0;
        return TRK_OK;
    }
    if (result == VK_SUCCESS && *in_all > 0) {
        *count = TRK_VK_DEVICES_MAX;
        result = api->EnumeratePhysicalDevices(instance, count, devices);
    }
    if (result != VK_SUCCESS && result != VK_INCOMPLETE) {
        *count = 0;
        return trk_vk_result(error, "vkEnumeratePhysicalDevices", result);
    }
    return TRK_OK;
}
