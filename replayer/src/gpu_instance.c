/*
 * From the loader to the physical device, with the validation layer where it is wanted.
 */
#include "gpu_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vk_instance.h"

#define VALIDATION_LAYER "VK_LAYER_KHRONOS_validation"

static VkBool32 VKAPI_CALL instance_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                            VkDebugUtilsMessageTypeFlagsEXT types,
                                            const VkDebugUtilsMessengerCallbackDataEXT *data,
                                            void *context)
{
    struct trk_gpu *gpu = context;
    (void)severity;
    (void)types;
    if (gpu->messages++ == 0) {
        snprintf(gpu->first_message, sizeof gpu->first_message, "%s",
                 data->pMessage != NULL ? data->pMessage : "?");
    }
    return VK_FALSE;
}

/* Whether a name stands in a list of extensions. */
static bool extension_listed(const VkExtensionProperties *list, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(list[i].extensionName, name) == 0) {
            return true;
        }
    }
    return false;
}

static bool instance_has_extension(const struct trk_gpu *gpu, const char *layer, const char *name)
{
    uint32_t count = 0;
    if (gpu->api.EnumerateInstanceExtensionProperties == NULL ||
        gpu->api.EnumerateInstanceExtensionProperties(layer, &count, NULL) != VK_SUCCESS) {
        return false;
    }
    VkExtensionProperties *list = calloc((size_t)count + 1, sizeof *list);
    bool found = list != NULL &&
                 gpu->api.EnumerateInstanceExtensionProperties(layer, &count, list) >= 0 &&
                 extension_listed(list, count, name);
    free(list);
    return found;
}

static bool instance_has_layer(const struct trk_gpu *gpu, const char *name)
{
    uint32_t count = 0;
    bool found = false;
    if (gpu->api.EnumerateInstanceLayerProperties == NULL ||
        gpu->api.EnumerateInstanceLayerProperties(&count, NULL) != VK_SUCCESS) {
        return false;
    }
    VkLayerProperties *list = calloc((size_t)count + 1, sizeof *list);
    if (list != NULL && gpu->api.EnumerateInstanceLayerProperties(&count, list) >= 0) {
        for (uint32_t i = 0; i < count; i++) {
            found |= strcmp(list[i].layerName, name) == 0;
        }
    }
    free(list);
    return found;
}

static const VkDebugUtilsMessengerCreateInfoEXT *
messenger_info(struct trk_gpu *gpu, VkDebugUtilsMessengerCreateInfoEXT *info)
{
    *info = (VkDebugUtilsMessengerCreateInfoEXT){
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
        .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                           VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
        .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
        .pfnUserCallback = instance_message,
        .pUserData = gpu,
    };
    return info;
}

static enum trk_status instance_create(struct trk_gpu *gpu, bool validate, struct trk_error *error)
{
    const char *layers[1], *extensions[1];
    const VkValidationFeatureEnableEXT enable =
        VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
    VkDebugUtilsMessengerCreateInfoEXT messenger;
    VkValidationFeaturesEXT features = {
        .sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT,
        .pNext = messenger_info(gpu, &messenger),
        .enabledValidationFeatureCount = 1,
        .pEnabledValidationFeatures = &enable,
    };
    VkApplicationInfo application = {
        .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
        .pApplicationName = "trk",
        .apiVersion = VK_API_VERSION_1_2,
    };
    VkInstanceCreateInfo create = {
        .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
        .pApplicationInfo = &application,
        .ppEnabledLayerNames = layers,
        .ppEnabledExtensionNames = extensions,
    };
    gpu->info.labels = instance_has_extension(gpu, NULL, VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
    if (validate) {
        if (!instance_has_layer(gpu, VALIDATION_LAYER) || !gpu->info.labels) {
            return trk_error_set(error, TRK_E_UNSUPPORTED, "there is no " VALIDATION_LAYER);
        }
        layers[create.enabledLayerCount++] = VALIDATION_LAYER;
        create.pNext = &features;
        gpu->info.validated = true;
    }
    if (gpu->info.labels) {
        extensions[create.enabledExtensionCount++] = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
    }
    VkResult result = gpu->api.CreateInstance(&create, NULL, &gpu->instance);
    if (result != VK_SUCCESS) {
        gpu->instance = VK_NULL_HANDLE;
    }
    if (result == VK_ERROR_INCOMPATIBLE_DRIVER) {
        return trk_error_set(error, TRK_E_UNSUPPORTED, "no Vulkan: there is no driver");
    }
    return trk_vk_result(error, "vkCreateInstance", result);
}

static void messenger_create(struct trk_gpu *gpu)
{
    VkDebugUtilsMessengerCreateInfoEXT info;
    PFN_vkCreateDebugUtilsMessengerEXT make =
        (PFN_vkCreateDebugUtilsMessengerEXT)gpu->api.GetInstanceProcAddr(
            gpu->instance, "vkCreateDebugUtilsMessengerEXT");
    gpu->destroy_messenger = (PFN_vkDestroyDebugUtilsMessengerEXT)gpu->api.GetInstanceProcAddr(
        gpu->instance, "vkDestroyDebugUtilsMessengerEXT");
    if (make == NULL || gpu->destroy_messenger == NULL ||
        make(gpu->instance, messenger_info(gpu, &info), NULL, &gpu->messenger) != VK_SUCCESS) {
        gpu->messenger = VK_NULL_HANDLE;
    }
}

static enum trk_status instance_device(struct trk_gpu *gpu, uint32_t number,
                                       struct trk_error *error)
{
    VkPhysicalDevice devices[TRK_VK_DEVICES_MAX];
    uint32_t count = 0, all = 0;
    enum trk_status status =
        trk_vk_instance_devices(&gpu->api, gpu->instance, devices, &count, &all, error);
    if (status != TRK_OK) {
        return status;
    }
    if (number >= count) {
        return trk_error_set(error, TRK_E_UNSUPPORTED,
                             "no Vulkan device %u: this machine has %u, counted from 0", number,
                             all);
    }
    gpu->physical = devices[number];
    return TRK_OK;
}

enum trk_status gpu_instance_open(struct trk_gpu *gpu, const struct trk_gpu_options *options,
                                  struct trk_error *error)
{
    uint32_t version = VK_API_VERSION_1_0;
    enum trk_status status = trk_vk_loader_open(&gpu->api, error);
    if (status != TRK_OK) {
        return status;
    }
    if (gpu->api.EnumerateInstanceVersion == NULL ||
        gpu->api.EnumerateInstanceVersion(&version) != VK_SUCCESS || version < VK_API_VERSION_1_2) {
        return trk_error_set(error, TRK_E_UNSUPPORTED,
                             "the Vulkan loader is older than 1.2, which replaying needs");
    }
    status = instance_create(gpu, options->validate, error);
    if (status == TRK_OK) {
        status = trk_vk_loader_instance(&gpu->api, gpu->instance, error);
    }
    if (status == TRK_OK && options->validate) {
        messenger_create(gpu);
    }
    return status == TRK_OK ? instance_device(gpu, options->device_number, error) : status;
}

void gpu_instance_close(struct trk_gpu *gpu)
{
    if (gpu->messenger != VK_NULL_HANDLE) {
        gpu->destroy_messenger(gpu->instance, gpu->messenger, NULL);
    }
    if (gpu->instance != VK_NULL_HANDLE && gpu->api.DestroyInstance != NULL) {
        gpu->api.DestroyInstance(gpu->instance, NULL);
    }
    trk_vk_loader_close(&gpu->api);
}

uint64_t trk_gpu_messages(const struct trk_gpu *gpu, const char **first)
{
    *first = gpu->first_message;
    return gpu->messages;
}

void gpu_name(struct trk_gpu *gpu, VkObjectType type, uint64_t object, const char *name)
{
    VkDebugUtilsObjectNameInfoEXT info = {
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT,
        .objectType = type,
        .objectHandle = object,
        .pObjectName = name,
    };
    if (gpu->info.labels && gpu->api.SetDebugUtilsObjectNameEXT != NULL) {
        (void)gpu->api.SetDebugUtilsObjectNameEXT(gpu->device, &info);
    }
}
