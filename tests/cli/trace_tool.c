/*
 * Makes and rewrites traces for the tests of the program, through the reader's and writer's API.
 *
 *     trace_tool make OUT        two threads, 40 marks, whole
 *     trace_tool unended OUT     the same without its end
 *     trace_tool odd OUT         the same with a thread name that no terminal should get
 *     trace_tool blank IN OUT    IN again with command line and environment blanked in the header
 *     trace_tool doubt WHERE IN OUT   IN again, which says that a decision was lost: behind each
 * FRAME event (frames), or after all of its first stream (end) trace_tool marks N         joins the
 * session it is recorded in and makes N marks trace_tool fork N          likewise, but a forked
 * child makes N more in the middle, which must not count; and threads that end without a word make
 * N each trace_tool pages N        joins, and uploads N pages of different contents, each twice
 *     trace_tool obey FILE       joins, and does what the lines of FILE say (obey_line)
 *     trace_tool same A B        compares the events of two traces, and their streams' names
 */
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "recorder/capture.h"
#include "recorder/writer.h"
#include "track/address.h"
#include "track/crash.h"
#include "track/fault.h"

#define MARKS 40u

static void check(enum trk_status status, const struct trk_error *error, const char *what)
{
    if (status != TRK_OK) {
        fprintf(stderr, "trace_tool: %s: %s\n", what, error->text);
        exit(1);
    }
}

static int create_file(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) {
        perror(path);
        exit(1);
    }
    return fd;
}

static void close_file(int fd, const char *path)
{
    if (close(fd) != 0) {
        perror(path);
        exit(1);
    }
}

static void make(const char *path, const char *name, bool end)
{
    struct trk_error error;
    struct trk_writer *writer;
    struct trk_writer_options options = trk_writer_options_default();
    memset(options.sync_marker, 0x5a, sizeof options.sync_marker);
    int fd = create_file(path);
    check(trk_writer_create(&writer, fd, &options,
                            "{\"tsc_hz\":2000000000,\"command\":[\"made\"],\"environment\":{}}",
                            &error),
          &error, "create");
    for (uint32_t stream = 1; stream <= 2; stream++) {
        struct trk_trace_stream known = {.stream_id = stream, .thread_id = 1000 + stream};
        snprintf(known.name, sizeof known.name, "%s%" PRIu32, name, stream);
        check(trk_writer_stream(writer, &known, &error), &error, "stream");
    }
    for (uint32_t i = 0; i < MARKS; i++) {
        struct trk_record record = {.tsc = 3200 + i * 64,
                                    .event = {.type = TRK_EVENT_MARK, .argument = i}};
        if (i % 10 == 0) {
            record.event = (struct trk_event){.type = TRK_EVENT_FRAME, .argument = i / 10};
        }
        check(trk_writer_append(writer, 1 + i % 2, &record, 1, 0, &error), &error, "append");
    }
    if (end) {
        check(trk_writer_end(writer, 0, &error), &error, "end");
    } else {
        check(trk_writer_flush(writer, &error), &error, "flush");
        trk_writer_destroy(writer);
    }
    close_file(fd, path);
}

static struct trk_trace *open_trace(const char *path)
{
    struct trk_error error;
    struct trk_trace *trace;
    check(trk_trace_open(&trace, path, &error), &error, path);
    check(trk_trace_scan(trace, &error), &error, path);
    return trace;
}

/* The header without a word of the command line or the environment. */
static char *blanked_header(const struct trk_trace *trace)
{
    cJSON *header = cJSON_Parse(trk_trace_header_json(trace));
    if (!header || !cJSON_GetObjectItemCaseSensitive(header, "command") ||
        !cJSON_GetObjectItemCaseSensitive(header, "environment")) {
        fprintf(stderr, "trace_tool: the header has no command or environment\n");
        exit(1);
    }
    cJSON_ReplaceItemInObjectCaseSensitive(header, "command", cJSON_CreateArray());
    cJSON_ReplaceItemInObjectCaseSensitive(header, "environment", cJSON_CreateObject());
    char *text = cJSON_PrintUnformatted(header);
    cJSON_Delete(header);
    return text;
}

/* A decision that IN has not, and that its recorder would have lost at this time. */
static void doubt(struct trk_writer *writer, uint32_t id, uint64_t tsc)
{
    struct trk_error error;
    const struct trk_record record = {
        .tsc = tsc,
        .event = {.type = TRK_EVENT_DROP, .context = TRK_EVENT_DECISION, .argument = 1}};
    check(trk_writer_append(writer, id, &record, 1, 0, &error), &error, "loss");
}

/* IN again; doubts: NULL, "frames" or "end", then its header stays as it is. */
static void copy(const char *doubts, const char *from, const char *to)
{
    struct trk_error error;
    struct trk_writer *writer;
    struct trk_trace_event event;
    struct trk_writer_options options = trk_writer_options_default();
    struct trk_trace *trace = open_trace(from);
    int fd = create_file(to);
    char *header = doubts == NULL ? blanked_header(trace) : NULL;
    check(trk_writer_create(&writer, fd, &options,
                            header != NULL ? header : trk_trace_header_json(trace), &error),
          &error, to);
    cJSON_free(header);
    uint64_t last = 0;
    for (size_t i = 0; i < trk_trace_stream_count(trace); i++) {
        check(trk_writer_stream(writer, trk_trace_stream(trace, i), &error), &error, to);
    }
    enum trk_status status;
    while ((status = trk_trace_next(trace, &event, &error)) == TRK_OK) {
        struct trk_record record = {.tsc = event.tsc, .event = event.event};
        uint32_t id = trk_trace_stream(trace, event.stream)->stream_id;
        check(trk_writer_append(writer, id, &record, 1, 0, &error), &error, to);
        last = event.tsc;
        if (record.event.type == TRK_EVENT_FRAME && doubts != NULL && *doubts == 'f') {
            doubt(writer, id, event.tsc);
        }
    }
    if (doubts != NULL && *doubts == 'e') {
        doubt(writer, trk_trace_stream(trace, 0)->stream_id, last + 1000000);
    }
    if (status != TRK_E_END || !trk_trace_state(trace).complete) {
        fprintf(stderr, "trace_tool: %s is not whole\n", from);
        exit(1);
    }
    check(trk_writer_end(writer, trk_trace_state(trace).child_status, &error), &error, to);
    trk_trace_close(trace);
    close_file(fd, to);
}

static int compare(const char *path_a, const char *path_b)
{
    struct trk_error error;
    struct trk_trace_event event_a, event_b;
    struct trk_trace *a = open_trace(path_a);
    struct trk_trace *b = open_trace(path_b);
    enum trk_status status_a, status_b;
    int differ = trk_trace_stream_count(a) != trk_trace_stream_count(b);
    for (size_t i = 0; !differ && i < trk_trace_stream_count(a); i++) {
        differ = strcmp(trk_trace_stream(a, i)->name, trk_trace_stream(b, i)->name) != 0;
    }
    do {
        status_a = trk_trace_next(a, &event_a, &error);
        status_b = trk_trace_next(b, &event_b, &error);
        differ |= status_a != status_b;
        if (!differ && status_a == TRK_OK) {
            differ = event_a.number != event_b.number || event_a.stream != event_b.stream ||
                     event_a.tsc != event_b.tsc ||
                     memcmp(&event_a.event, &event_b.event, sizeof event_a.event) != 0;
        }
    } while (!differ && status_a == TRK_OK);
    if (differ) {
        fprintf(stderr, "trace_tool: %s and %s differ\n", path_a, path_b);
    }
    trk_trace_close(a);
    trk_trace_close(b);
    return differ;
}

static void *make_marks(void *count)
{
    for (uintptr_t i = (uintptr_t)count; i > 0; i--) {
        trk_capture_mark(i);
    }
    return NULL;
}

static void join_session(void)
{
    struct trk_error error;
    if (trk_capture_open(&error) != TRK_OK) {
        fprintf(stderr, "trace_tool: %s\n", error.text);
        exit(5);
    }
}

/* N marks of the main thread, N of a forked child, N of each of 200 threads that come and go. */
static int record_forks(void *count)
{
    join_session();
    make_marks(count);
    pid_t child = fork();
    if (child == 0) {
        make_marks(count);
        _exit(trk_capture_active() ? 1 : 0);
    }
    int status = -1;
    if (waitpid(child, &status, 0) != child || status != 0) {
        return 6;
    }
    for (int i = 0; i < 200; i++) {
        pthread_t thread;
        struct timespec pause = {.tv_nsec = 1000000};
        if (pthread_create(&thread, NULL, make_marks, count) != 0) {
            return 7;
        }
        pthread_join(thread, NULL);
        nanosleep(&pause, NULL);
    }
    printf("forked\n");
    return 9;
}

static void wait_ms(unsigned long milliseconds)
{
    struct timespec pause = {.tv_sec = (time_t)(milliseconds / 1000),
                             .tv_nsec = (long)(milliseconds % 1000) * 1000000};
    nanosleep(&pause, NULL);
}

static void on_crash(void *context, const struct trk_crash *crash)
{
    (void)context;
    (void)crash;
    trk_capture_trigger();
}

static enum trk_fault_outcome decline(void *context, uint64_t host_addr, enum trk_access access)
{
    (void)context;
    (void)host_addr;
    (void)access;
    return TRK_FAULT_UNHANDLED;
}

/* Take the signals of faults, and serve none. */
static void handle_faults(void)
{
    struct trk_error error;
    check(trk_fault_install(decline, NULL, &error), &error, "handle");
}

/* A guest thread's fault that is nobody's, told to the recording by the fault handler. */
static void crash(void)
{
    volatile char *nowhere = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    trk_crash_trigger_set(on_crash, NULL);
    trk_crash_thread_guest("player one");
    handle_faults();
    *nowhere = 1;
}

static struct trk_tracker *tracker;

static void declare_tracker(void)
{
    struct trk_error error;
    struct trk_tracker_options options = trk_tracker_options_default();
    check(trk_backend_simulated_create(&options.backend, &error), &error, "tracker");
    options.observer = trk_capture_observer();
    check(trk_tracker_create(&tracker, &options, &error), &error, "tracker");
    trk_capture_tracker(0, &options.policy, TRK_BACKEND_SIMULATED);
}

static void *live_briefly(void *count)
{
    make_marks(count);
    if (tracker != NULL) {
        struct trk_error error = {.text = "mark_cpu"};
        check(trk_tracker_mark_cpu(tracker, TRK_ARENA_FIRST, 1), &error, "threads");
    }
    return NULL;
}

/*
 * Threads one after the other, of which each makes 100 marks, tells the tracker of a store if there
 * is one, and ends without a word.
 */
static void make_threads(unsigned long count)
{
    for (unsigned long i = 0; i < count; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, live_briefly, (void *)(uintptr_t)100) != 0) {
            exit(7);
        }
        pthread_join(thread, NULL);
    }
}

/* Mappings below every module: pages of guest memory with other rights than the next one's. */
static void make_mappings(unsigned long count)
{
    uintptr_t there = (uintptr_t)TRK_ARENA_FIRST + (uintptr_t)trk_host_bias_default();
    char *first = mmap((void *)there, count * TRK_HOST_PAGE_BYTES, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    for (unsigned long i = 0; i < count; i += 2) {
        if (first == MAP_FAILED ||
            mprotect(first + i * TRK_HOST_PAGE_BYTES, TRK_HOST_PAGE_BYTES, PROT_READ) != 0) {
            exit(7);
        }
    }
}

static void obey_line(const char *word, const char *rest)
{
    struct trk_observer observer = trk_capture_observer();
    unsigned long number = strtoul(rest, NULL, 10);
    if (strcmp(word, "marks") == 0) {
        make_marks((void *)(uintptr_t)number);
    } else if (strcmp(word, "threads") == 0) {
        make_threads(number);
    } else if (strcmp(word, "frame") == 0) {
        trk_capture_frame(number);
    } else if (strcmp(word, "about") == 0) {
        trk_capture_about("word", rest);
    } else if (strcmp(word, "tracker") == 0) {
        declare_tracker();
    } else if (strcmp(word, "handle") == 0) {
        handle_faults();
    } else if (strcmp(word, "trigger") == 0) {
        trk_capture_trigger();
    } else if (strcmp(word, "fail") == 0) {
        struct trk_event fail = {.type = TRK_EVENT_FAIL, .context = TRK_E_CONFLICT};
        observer.emit(observer.context, &fail);
    } else if (strcmp(word, "pause") == 0) {
        wait_ms(number);
    } else if (strcmp(word, "touch") == 0) {
        close_file(create_file(rest), rest);
    } else if (strcmp(word, "await") == 0) {
        while (access(rest, F_OK) != 0) {
            wait_ms(2);
        }
    } else if (strcmp(word, "mappings") == 0) {
        make_mappings(number);
    } else if (strcmp(word, "become") == 0) {
        execlp(rest, rest, "0.2", (char *)NULL);
        exit(7);
    } else if (strcmp(word, "crash") == 0) {
        crash();
    } else if (strcmp(word, "abort") == 0) {
        abort();
    } else {
        exit(strcmp(word, "exit") == 0 ? (int)number : 2);
    }
}

/* Pages of one tracked place, as an owner that copies them would say it. */
static void upload_pages(unsigned long count)
{
    static uint64_t page[TRK_HOST_PAGE_BYTES / sizeof(uint64_t)];
    for (unsigned long n = 0; n < 2 * count; n++) {
        for (size_t i = 0; i < sizeof page / sizeof page[0]; i++) {
            page[i] = (n % count + 1) << 16 | i % 16;
        }
        uint64_t guest_addr = TRK_ARENA_FIRST + n * TRK_HOST_PAGE_BYTES;
        trk_capture_pages(TRK_PAGE_ARMED, guest_addr, page, sizeof page);
        trk_capture_pages(TRK_PAGE_COPIED, guest_addr, page, sizeof page);
        if (n % 100 == 0) {
            wait_ms(2);
        }
    }
}

static int obey(const char *path)
{
    char line[256];
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return 2;
    }
    join_session();
    while (fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = 0;
        char *rest = strchr(line, ' ');
        if (rest != NULL) {
            *rest++ = 0;
        }
        obey_line(line, rest != NULL ? rest : "");
    }
    fclose(file);
    return 0;
}

int main(int argc, char **argv)
{
    const char *verb = argc > 1 ? argv[1] : "";
    if (argc == 3 && strcmp(verb, "make") == 0) {
        make(argv[2], "thread", true);
    } else if (argc == 3 && strcmp(verb, "unended") == 0) {
        make(argv[2], "thread", false);
    } else if (argc == 3 && strcmp(verb, "odd") == 0) {
        make(argv[2], "\033[2J\"\\\xff", true);
    } else if (argc == 3 && strcmp(verb, "marks") == 0) {
        join_session();
        make_marks((void *)(uintptr_t)strtoul(argv[2], NULL, 10));
    } else if (argc == 3 && strcmp(verb, "pages") == 0) {
        join_session();
        upload_pages(strtoul(argv[2], NULL, 10));
    } else if (argc == 3 && strcmp(verb, "obey") == 0) {
        return obey(argv[2]);
    } else if (argc == 3 && strcmp(verb, "fork") == 0) {
        return record_forks((void *)(uintptr_t)strtoul(argv[2], NULL, 10));
    } else if (argc == 4 && strcmp(verb, "blank") == 0) {
        copy(NULL, argv[2], argv[3]);
    } else if (argc == 5 && strcmp(verb, "doubt") == 0) {
        copy(argv[2], argv[3], argv[4]);
    } else if (argc == 4 && strcmp(verb, "same") == 0) {
        return compare(argv[2], argv[3]);
    } else {
        fprintf(stderr, "usage: trace_tool make|unended|odd OUT, marks|fork|pages N, obey FILE, "
                        "blank IN OUT, doubt frames|end IN OUT, same A B\n");
        return 2;
    }
    return 0;
}
