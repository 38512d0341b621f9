/* trk devices: what Vulkan devices this machine has, and what they can do for copies. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "command.h"
#include "json_out.h"
#include "options.h"
#include "replayer/devices.h"
#include "terminal.h"

#define SCHEMA "trk-devices/1"

static const struct trk_option devices_options[] = {
    {.name = "json", .about = "One JSON object, schema " SCHEMA "."},
    {.name = NULL},
};

static const char *const queue_flags[] = {"graphics", "compute", "transfer", "sparse"};
static const char *const memory_flags[] = {"device-local", "host-visible", "coherent", "cached",
                                           "lazy"};
#define QUEUE_FLAGS  (sizeof queue_flags / sizeof queue_flags[0])
#define MEMORY_FLAGS (sizeof memory_flags / sizeof memory_flags[0])

static void print_flags(uint32_t flags, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (flags & (1u << i)) {
            printf(" %s", names[i]);
        }
    }
    if (flags == 0) {
        fputs(" plain", stdout);
    }
}

static void print_families(const struct trk_device *device)
{
    for (uint32_t i = 0; i < device->family_count; i++) {
        const struct trk_device_family *family = &device->families[i];
        printf("  queues    family %" PRIu32 ", %" PRIu32 " of them:", i, family->queues);
        print_flags(family->flags, queue_flags, QUEUE_FLAGS);
        if (family->timestamp_bits > 0) {
            printf("; time stamps of %" PRIu32 " bits\n", family->timestamp_bits);
        } else {
            puts("; no time stamps");
        }
    }
}

static void print_memory(const struct trk_device *device)
{
    for (uint32_t i = 0; i < device->memory_type_count; i++) {
        const struct trk_device_memory_type *type = &device->memory_types[i];
        printf("  memory    type %" PRIu32 ", heap %" PRIu32 " of %.1f GiB:", i, type->heap,
               (double)device->heaps[type->heap].size_bytes / (double)(UINT64_C(1) << 30));
        print_flags(type->flags, memory_flags, MEMORY_FLAGS);
        putchar('\n');
    }
}

static void print_device(const struct trk_device *device)
{
    printf("device %" PRIu32 "    ", device->number);
    trk_terminal_text(stdout, device->name);
    printf("\n  kind      %s, vendor 0x%" PRIx32 ", device 0x%" PRIx32 "\n  driver    ",
           device->kind, device->vendor_id, device->device_id);
    trk_terminal_text(stdout, device->driver);
    printf("\n  Vulkan    %" PRIu32 ".%" PRIu32 ".%" PRIu32 "%s\n", device->api_version[0],
           device->api_version[1], device->api_version[2],
           device->supported ? "" : ", too old to replay: 1.2 is needed");
    printf("  time      a tick of %.3f ns\n", device->timestamp_period_ns);
    print_families(device);
    print_memory(device);
    for (size_t i = 0; i < TRK_DEVICE_EXTENSIONS; i++) {
        const struct trk_device_extension *extension = &device->extensions[i];
        printf("  extension %s %s (%s)\n", extension->there ? "has" : "lacks", extension->name,
               extension->use);
    }
    if (device->import_alignment_bytes > 0) {
        printf("  import    of host memory at multiples of %" PRIu64 " bytes\n",
               device->import_alignment_bytes);
    }
}

static void add_flags(cJSON *object, const char *key, uint32_t flags, const char *const *names,
                      size_t count)
{
    cJSON *list = cJSON_AddArrayToObject(object, key);
    for (size_t i = 0; i < count; i++) {
        if (flags & (1u << i)) {
            cJSON_AddItemToArray(list, cJSON_CreateString(names[i]));
        }
    }
}

static void add_memory(cJSON *object, const struct trk_device *device)
{
    cJSON *heaps = cJSON_AddArrayToObject(object, "heaps");
    for (uint32_t i = 0; i < device->heap_count; i++) {
        cJSON *item = trk_json_out_item(heaps);
        trk_json_out_number(item, "size_bytes", device->heaps[i].size_bytes);
        cJSON_AddBoolToObject(item, "device_local", device->heaps[i].local);
    }
    cJSON *types = cJSON_AddArrayToObject(object, "memory_types");
    for (uint32_t i = 0; i < device->memory_type_count; i++) {
        cJSON *item = trk_json_out_item(types);
        trk_json_out_number(item, "heap", device->memory_types[i].heap);
        add_flags(item, "flags", device->memory_types[i].flags, memory_flags, MEMORY_FLAGS);
    }
}

static void add_families(cJSON *object, const struct trk_device *device)
{
    cJSON *families = cJSON_AddArrayToObject(object, "queue_families");
    for (uint32_t i = 0; i < device->family_count; i++) {
        cJSON *item = trk_json_out_item(families);
        trk_json_out_number(item, "queues", device->families[i].queues);
        trk_json_out_number(item, "timestamp_bits", device->families[i].timestamp_bits);
        add_flags(item, "flags", device->families[i].flags, queue_flags, QUEUE_FLAGS);
    }
}

static void add_device(cJSON *list, const struct trk_device *device)
{
    cJSON *object = trk_json_out_item(list);
    char version[40];
    snprintf(version, sizeof version, "%" PRIu32 ".%" PRIu32 ".%" PRIu32, device->api_version[0],
             device->api_version[1], device->api_version[2]);
    trk_json_out_number(object, "number", device->number);
    trk_json_out_text(object, "name", device->name);
    trk_json_out_text(object, "kind", device->kind);
    trk_json_out_text(object, "driver", device->driver);
    trk_json_out_number(object, "driver_version", device->driver_version);
    trk_json_out_number(object, "vendor_id", device->vendor_id);
    trk_json_out_number(object, "device_id", device->device_id);
    trk_json_out_text(object, "api_version", version);
    cJSON_AddBoolToObject(object, "supported", device->supported);
    cJSON_AddNumberToObject(object, "timestamp_period_ns", device->timestamp_period_ns);
    trk_json_out_number(object, "import_alignment_bytes",
                        device->import_alignment_bytes > 0 ? device->import_alignment_bytes
                                                           : TRK_NOT_KNOWN);
    add_families(object, device);
    add_memory(object, device);
    cJSON *extensions = cJSON_AddArrayToObject(object, "extensions");
    for (size_t i = 0; i < TRK_DEVICE_EXTENSIONS; i++) {
        cJSON *item = trk_json_out_item(extensions);
        trk_json_out_text(item, "name", device->extensions[i].name);
        trk_json_out_text(item, "use", device->extensions[i].use);
        cJSON_AddBoolToObject(item, "there", device->extensions[i].there);
        trk_json_out_number(item, "version",
                            device->extensions[i].there ? device->extensions[i].version
                                                        : TRK_NOT_KNOWN);
    }
}

static void print_json(const struct trk_device *devices, uint32_t count, uint32_t in_all)
{
    cJSON *object = trk_json_out_object(SCHEMA);
    trk_json_out_number(object, "device_count", in_all);
    cJSON *list = cJSON_AddArrayToObject(object, "devices");
    for (uint32_t i = 0; i < count; i++) {
        add_device(list, &devices[i]);
    }
    trk_json_out_print(object);
}

static int run_devices(const struct trk_options *options)
{
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    struct trk_device *devices = NULL;
    uint32_t count = 0, in_all = 0;
    if (trk_devices_list(&devices, &count, &in_all, &error) != TRK_OK) {
        return trk_terminal_error("devices", NULL, &error);
    }
    if (trk_options_flag(options, "json")) {
        print_json(devices, count, in_all);
    }
    for (uint32_t i = 0; i < count && !trk_options_flag(options, "json"); i++) {
        print_device(&devices[i]);
    }
    if (in_all > count) {
        trk_terminal_say("devices", "%" PRIu32 " devices more are not told", in_all - count);
    }
    free(devices);
    return TRK_EXIT_OK;
}

const struct trk_command trk_cmd_devices = {
    .name = "devices",
    .about = "list the Vulkan devices of this machine",
    .operands = "",
    .text =
        "Lists the devices that the Vulkan loader finds, by the numbers that --device takes "
        "elsewhere: name, driver, version of Vulkan, queue families and whether they have time "
        "stamps, memory types, and which of the extensions that a policy or a measurement can "
        "use are there. Nothing is run on a device. Without a loader, a driver or a device this "
        "ends with 4, and says which of them is missing.",
    .examples = "trk devices\ntrk devices --json",
    .exits = "0 good, 2 usage, 4 no Vulkan loader, driver or device, 70 internal",
    .schema = SCHEMA,
    .options = devices_options,
    .run = run_devices,
};
