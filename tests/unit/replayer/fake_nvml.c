/* A management library with two devices, one of which does not say how fast it runs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SUCCESS 0
#define UNKNOWN 999

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetCount_v2(unsigned *count);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device);
int nvmlDeviceGetName(void *device, char *name, unsigned size);
int nvmlDeviceGetClockInfo(void *device, unsigned which, unsigned *mhz);
int nvmlDeviceGetTemperature(void *device, unsigned sensor, unsigned *celsius);

static int opened;
static char devices[2];

int nvmlInit_v2(void)
{
    opened++;
    return getenv("FAKE_NVML_FAILS") != NULL ? UNKNOWN : SUCCESS;
}

int nvmlShutdown(void)
{
    opened--;
    return SUCCESS;
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = 2;
    return opened == 1 ? SUCCESS : UNKNOWN;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
    *device = &devices[index];
    return SUCCESS;
}

int nvmlDeviceGetName(void *device, char *name, unsigned size)
{
    snprintf(name, size, "%s", device == &devices[0] ? "Silent One" : "Fast One");
    return SUCCESS;
}

int nvmlDeviceGetClockInfo(void *device, unsigned which, unsigned *mhz)
{
    if (device == &devices[0]) {
        return UNKNOWN;
    }
    *mhz = which == 1 ? 1980 : 3201;
    return which == 1 || which == 2 ? SUCCESS : UNKNOWN;
}

int nvmlDeviceGetTemperature(void *device, unsigned sensor, unsigned *celsius)
{
    (void)device;
    *celsius = 41;
    return sensor == 0 ? SUCCESS : UNKNOWN;
}
