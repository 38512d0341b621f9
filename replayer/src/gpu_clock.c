#include "replayer/gpu_clock.h"

#include <dlfcn.h>
#include <string.h>

/* Of the library's interface, which NVIDIA keeps stable: what is called here, and two constants. */
#define NVML_SUCCESS     0
#define NVML_CLOCK_CORE  1u /* NVML_CLOCK_SM */
#define NVML_CLOCK_MEM   2u
#define NVML_SENSOR_CHIP 0u
#define NVML_NAME_BYTES  96u

struct nvml {
    void *library;
    int (*init)(void);
    int (*shut_down)(void);
    int (*device_count)(unsigned *count);
    int (*device)(unsigned index, void **device);
    int (*name)(void *device, char *name, unsigned size);
    int (*clock)(void *device, unsigned which, unsigned *mhz);
    int (*temperature)(void *device, unsigned sensor, unsigned *celsius);
};

/* dlsym gives an object pointer; POSIX promises that its bits are a function's. */
static bool find(void *library, const char *name, void *function, size_t size)
{
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, size);
    return symbol != NULL;
}

static bool nvml_open(struct nvml *nvml)
{
    *nvml = (struct nvml){.library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)};
    void *library = nvml->library;
    return library != NULL && find(library, "nvmlInit_v2", &nvml->init, sizeof nvml->init) &&
           find(library, "nvmlShutdown", &nvml->shut_down, sizeof nvml->shut_down) &&
           find(library, "nvmlDeviceGetCount_v2", &nvml->device_count, sizeof nvml->device_count) &&
           find(library, "nvmlDeviceGetHandleByIndex_v2", &nvml->device, sizeof nvml->device) &&
           find(library, "nvmlDeviceGetName", &nvml->name, sizeof nvml->name) &&
           find(library, "nvmlDeviceGetClockInfo", &nvml->clock, sizeof nvml->clock) &&
           find(library, "nvmlDeviceGetTemperature", &nvml->temperature, sizeof nvml->temperature);
}

static void *nvml_device(const struct nvml *nvml, const char *device_name)
{
    unsigned count = 0;
    if (nvml->device_count(&count) != NVML_SUCCESS) {
        return NULL;
    }
    for (unsigned i = 0; i < count; i++) {
        void *device = NULL;
        char name[NVML_NAME_BYTES] = "";
        if (nvml->device(i, &device) == NVML_SUCCESS &&
            nvml->name(device, name, sizeof name) == NVML_SUCCESS &&
            strncmp(name, device_name, sizeof name) == 0) {
            return device;
        }
    }
    return NULL;
}

static bool clock_take(struct trk_gpu_clock *out, const struct nvml *nvml, const char *device_name)
{
    void *device = nvml_device(nvml, device_name);
    unsigned celsius = 0;
    if (device == NULL || nvml->clock(device, NVML_CLOCK_CORE, &out->core_mhz) != NVML_SUCCESS ||
        nvml->clock(device, NVML_CLOCK_MEM, &out->memory_mhz) != NVML_SUCCESS) {
        return false;
    }
    if (nvml->temperature(device, NVML_SENSOR_CHIP, &celsius) == NVML_SUCCESS) {
        out->temperature_celsius = celsius;
    }
    return true;
}

bool trk_gpu_clock_read(struct trk_gpu_clock *out, const char *device_name)
{
    struct nvml nvml;
    struct trk_gpu_clock clock = {0};
    bool known = false;
    if (nvml_open(&nvml) && nvml.init() == NVML_SUCCESS) {
        known = clock_take(&clock, &nvml, device_name);
        nvml.shut_down();
    }
    if (nvml.library != NULL) {
        dlclose(nvml.library);
    }
    *out = known ? clock : (struct trk_gpu_clock){0};
    return known;
}
