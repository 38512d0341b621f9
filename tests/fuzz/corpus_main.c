/*
 * Goal: the stored inputs pass in every build, without libFuzzer.
 * Method: give each file named, or each file in a directory named, to the harness; of each also
 * its first half, and itself with every eighth byte changed.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz.h"

#define INPUT_MAX (1u << 20)

static int ran;

static int run_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = malloc(INPUT_MAX);
    if (file == NULL || bytes == NULL) {
        fprintf(stderr, "cannot read %s\n", path);
        free(bytes);
        return 1;
    }
    size_t size_bytes = fread(bytes, 1, INPUT_MAX, file);
    fclose(file);
    LLVMFuzzerTestOneInput(bytes, size_bytes);
    LLVMFuzzerTestOneInput(bytes, size_bytes / 2);
    for (size_t i = 0; i < size_bytes; i += 8) {
        bytes[i] ^= (uint8_t)(1u << i / 8 % 8);
        LLVMFuzzerTestOneInput(bytes, size_bytes);
        bytes[i] ^= (uint8_t)(1u << i / 8 % 8);
    }
    free(bytes);
    ran++;
    return 0;
}

static int run_directory(const char *path)
{
    DIR *directory = opendir(path);
    if (directory == NULL) {
        return run_file(path);
    }
    int failed = 0;
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        char name[4096];
        if (entry->d_name[0] != '.') {
            snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
            failed |= run_file(name);
        }
    }
    closedir(directory);
    return failed;
}

int main(int argc, char **argv)
{
    int failed = 0;
    for (int i = 1; i < argc; i++) {
        failed |= run_directory(argv[i]);
    }
    printf("%d inputs\n", ran);
    return failed || ran == 0;
}
