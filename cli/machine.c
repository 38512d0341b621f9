#include "machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "json_out.h"

#define CPUFREQ "/sys/devices/system/cpu/cpu0/cpufreq/"

/* The first line of a file, without its end; "" if there is none. */
static void line_read(const char *path, char *out, size_t size)
{
    FILE *file = fopen(path, "re");
    if (file == NULL || fgets(out, (int)size, file) == NULL) {
        out[0] = 0;
    }
    if (file != NULL) {
        fclose(file);
    }
    out[strcspn(out, "\n")] = 0;
}

/* The value of the first line `name<blanks>: value` of /proc/cpuinfo. */
static void cpuinfo_read(const char *name, char *out, size_t size)
{
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "re");
    out[0] = 0;
    while (file != NULL && out[0] == 0 && fgets(line, sizeof line, file) != NULL) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, name, strlen(name)) == 0 && colon != NULL) {
            line[strcspn(line, "\n")] = 0;
            snprintf(out, size, "%s", colon + 1 + strspn(colon + 1, " "));
        }
    }
    if (file != NULL) {
        fclose(file);
    }
}

void trk_machine_read(struct trk_machine *out)
{
    struct utsname name;
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    *out = (struct trk_machine){.processors = processors > 0 ? (uint32_t)processors : 0};
    if (uname(&name) == 0) {
        snprintf(out->kernel, sizeof out->kernel, "%.64s %.64s", name.sysname, name.release);
    }
    cpuinfo_read("model name", out->processor, sizeof out->processor);
    line_read(CPUFREQ "scaling_governor", out->governor, sizeof out->governor);
}

uint32_t trk_machine_processor_mhz(void)
{
    char text[32];
    line_read(CPUFREQ "scaling_cur_freq", text, sizeof text); /* in kHz */
    if (text[0] != 0) {
        return (uint32_t)(strtoul(text, NULL, 10) / 1000);
    }
    cpuinfo_read("cpu MHz", text, sizeof text);
    return (uint32_t)strtoul(text, NULL, 10);
}

static void add_known(cJSON *object, const char *key, const char *text)
{
    trk_json_out_text(object, key, text[0] ? text : NULL);
}

void trk_machine_json(cJSON *object, const struct trk_machine *machine)
{
    cJSON *item = cJSON_AddObjectToObject(object, "machine");
    add_known(item, "kernel", machine->kernel);
    add_known(item, "processor", machine->processor);
    add_known(item, "governor", machine->governor);
    trk_json_out_number(item, "processors", machine->processors);
}
