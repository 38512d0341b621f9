#include "recorded.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder/capture.h"
#include "recorder/record.h"

#define WORDS_MAX 6u

/* What the command says on stdout goes to stderr, because stdout is the JSON's. */
int bench_record(const char *path, char *const *argv, unsigned block_ms,
                 const unsigned *clock_shift)
{
    int kept = dup(STDOUT_FILENO);
    fflush(stdout);
    if (kept < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
        perror("dup");
        return 1;
    }
    struct trk_record_options options = {
        .size = sizeof options,
        .path = path,
        .overwrite = true,
        .argv = argv,
        .block_ms = block_ms,
        .clock_shift = clock_shift,
    };
    struct trk_record_result result = {0};
    struct trk_error error;
    enum trk_status status = trk_record_command(&options, &result, &error);
    dup2(kept, STDOUT_FILENO);
    close(kept);
    if (status != TRK_OK) {
        fprintf(stderr, "record %s: %s\n", argv[0], error.text);
        return 1;
    }
    if (!WIFEXITED(result.child_status) || WEXITSTATUS(result.child_status) != 0) {
        fprintf(stderr, "%s ended with wait status %d\n", argv[0], (int)result.child_status);
        return 1;
    }
    return 0;
}

int bench_record_self(const char *path, char *const *words, void *out, size_t size)
{
    char self[4096];
    char target[16];
    char *argv[WORDS_MAX + 3] = {self};
    size_t count = 1;
    int ends[2];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length < 0 || pipe(ends) != 0) {
        perror("bench");
        return 1;
    }
    self[length] = '\0';
    while (words[count - 1] != NULL && count <= WORDS_MAX) {
        argv[count] = words[count - 1];
        count++;
    }
    snprintf(target, sizeof target, "%d", ends[1]);
    argv[count] = target;
    int failed = bench_record(path, argv, 0, NULL);
    close(ends[1]);
    if (!failed && size > 0) {
        failed = read(ends[0], out, size) != (ssize_t)size;
    }
    close(ends[0]);
    return failed;
}

int bench_recorded_begin(const char *thread)
{
    struct trk_error error;
    if (trk_capture_open(&error) != TRK_OK) {
        fprintf(stderr, "not recorded: %s\n", error.text);
        return 1;
    }
    if (thread != NULL) {
        trk_capture_thread(thread, TRK_ROLE_GUEST);
    }
    return 0;
}

int bench_recorded_end(int fd, const void *figures, size_t size)
{
    trk_capture_thread_end();
    return write(fd, figures, size) != (ssize_t)size;
}
