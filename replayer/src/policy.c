#include "replayer/policy.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define RING_BYTES_DEFAULT  (UINT64_C(64) << 20) /* caches may keep it: docs/performance.md */
#define BATCH_BYTES_DEFAULT (UINT64_C(16) << 20)
#define RING_BYTES_LEAST    (UINT64_C(64) << 10)
#define RING_BYTES_MOST     (UINT64_C(4) << 30)
#define SHAPE_BYTES_MOST    (UINT64_C(1) << 40)
#define PAGE_BYTES          4096u
#define SLOW_PERCENT_MOST   100u

static const struct {
    const char *name;
    int shape, path; /* -1: it is none */
    bool bytes;      /* ":BYTES" follows */
} policy_words[] = {
    {"per-range", TRK_SHAPE_PER_RANGE, -1, false}, {"coalesce", TRK_SHAPE_COALESCE, -1, true},
    {"auto", TRK_SHAPE_AUTO, -1, false},           {"whole", TRK_SHAPE_WHOLE, -1, false},
    {"granule", TRK_SHAPE_GRANULE, -1, true},      {"copy", -1, TRK_PATH_COPY, false},
    {"scatter", -1, TRK_PATH_SCATTER, false},      {"import", -1, TRK_PATH_IMPORT, false},
    {"direct", -1, TRK_PATH_DIRECT, false},        {"host-copy", -1, TRK_PATH_HOST_COPY, false},
    {"fetch", -1, TRK_PATH_FETCH, false},
};

static const char *const policy_queues[] = {"universal", "compute", "transfer"};

static const char *const policy_list[] = {
    "per-range",
    "per-range,threads=4",
    "per-range,queue=compute",
    "per-range,queue=transfer",
    "coalesce:4K",
    "coalesce:16K",
    "coalesce:64K",
    "coalesce:128K",
    "coalesce:256K",
    "coalesce:512K",
    "coalesce:1M",
    "auto",
    "auto,threads=4",
    "auto,threads=8",
    "auto,threads=16",
    "auto,queue=compute",
    "auto,queue=transfer",
    "granule:16K",
    "granule:64K",
    "granule:256K",
    "whole",
    "whole,threads=8",
    "scatter",
    "scatter,threads=4",
    "scatter,threads=8",
    "scatter,threads=8,batch=8M",
    "scatter,threads=12",
    "scatter,threads=12,batch=8M",
    "scatter,threads=16",
    "scatter,queue=compute",
    "auto+scatter",
    "auto+scatter,threads=8",
    "fetch",
    "fetch,threads=4",
    "fetch,threads=8",
    "fetch,threads=12",
    "fetch,threads=12,ring=128M",
    "fetch,threads=16",
    "fetch,queue=compute",
    "import",
    "auto+import",
    "import+scatter",
    "direct",
    "direct,threads=8",
    "auto+direct,threads=8",
    "host-copy",
    NULL,
};

const char *const *trk_transfer_policy_list(void)
{
    return policy_list;
}

struct policy_reader {
    const char *text;
    size_t at;
    bool shaped, import, scatter, other; /* words that were there */
    struct trk_error *error;
};

static enum trk_status policy_refuse(const struct policy_reader *reader, const char *what)
{
    return trk_error_set(reader->error, TRK_E_ARGUMENT, "%s at column %zu of \"%.60s\"", what,
                         reader->at + 1, reader->text);
}

/* How many characters of a word stand here. */
static size_t policy_span(const struct policy_reader *reader)
{
    return strcspn(reader->text + reader->at, "+,:=");
}

static bool policy_is(const struct policy_reader *reader, size_t span, const char *word)
{
    return strlen(word) == span && memcmp(reader->text + reader->at, word, span) == 0;
}

/* A decimal number; false: there is none, or it does not fit. */
static bool policy_digits(struct policy_reader *reader, uint64_t *out)
{
    size_t begin = reader->at;
    uint64_t number = 0;
    for (; reader->text[reader->at] >= '0' && reader->text[reader->at] <= '9'; reader->at++) {
        unsigned digit = (unsigned)(reader->text[reader->at] - '0');
        if (number > (UINT64_MAX - digit) / 10) {
            return false;
        }
        number = number * 10 + digit;
    }
    *out = number;
    return reader->at > begin;
}

static enum trk_status policy_number(struct policy_reader *reader, bool size, uint64_t least,
                                     uint64_t most, uint64_t *out)
{
    size_t begin = reader->at;
    bool good = policy_digits(reader, out);
    const char *suffix = size && good ? strchr("KMG", reader->text[reader->at]) : NULL;
    if (suffix != NULL && *suffix != '\0') {
        unsigned shift = *suffix == 'K' ? 10 : *suffix == 'M' ? 20 : 30;
        good = *out <= UINT64_MAX >> shift;
        *out = good ? *out << shift : 0;
        reader->at++;
    }
    if (good && *out >= least && *out <= most) {
        return TRK_OK;
    }
    reader->at = begin;
    char what[80];
    snprintf(what, sizeof what, "no number from %llu to %llu", (unsigned long long)least,
             (unsigned long long)most);
    return policy_refuse(reader, what);
}

static enum trk_status policy_word(struct policy_reader *reader, struct trk_transfer_policy *out)
{
    size_t span = policy_span(reader), found = 0;
    const size_t count = sizeof policy_words / sizeof *policy_words;
    while (found < count && !policy_is(reader, span, policy_words[found].name)) {
        found++;
    }
    if (found == count) {
        return policy_refuse(reader, span == 0 ? "a policy's word is missing" : "no such policy");
    }
    if (policy_words[found].shape >= 0) {
        if (reader->shaped) {
            return policy_refuse(reader, "a second word for how ranges become regions");
        }
        reader->shaped = true;
        out->shape = (enum trk_policy_shape)policy_words[found].shape;
    } else {
        bool *said = policy_words[found].path == TRK_PATH_IMPORT    ? &reader->import
                     : policy_words[found].path == TRK_PATH_SCATTER ? &reader->scatter
                                                                    : &reader->other;
        if (*said || (said == &reader->other ? reader->import || reader->scatter : reader->other)) {
            return policy_refuse(reader, "a second word for how regions travel");
        }
        *said = true;
        out->path = reader->import && reader->scatter
                        ? TRK_PATH_IMPORT_SCATTER
                        : (enum trk_policy_path)policy_words[found].path;
    }
    reader->at += span;
    if (!policy_words[found].bytes) {
        return TRK_OK;
    }
    if (reader->text[reader->at] != ':') {
        return policy_refuse(reader, "\":BYTES\" is missing");
    }
    reader->at++;
    const size_t begin = reader->at;
    enum trk_status status = policy_number(reader, true, 1, SHAPE_BYTES_MOST, &out->shape_bytes);
    if (status == TRK_OK && out->shape == TRK_SHAPE_GRANULE && out->shape_bytes % PAGE_BYTES != 0) {
        reader->at = begin;
        return policy_refuse(reader, "a granule that is not whole pages of 4096 bytes");
    }
    return status;
}

static enum trk_status policy_queue(struct policy_reader *reader, struct trk_transfer_policy *out)
{
    size_t span = policy_span(reader);
    for (size_t i = 0; i < sizeof policy_queues / sizeof *policy_queues; i++) {
        if (policy_is(reader, span, policy_queues[i])) {
            out->queue = (enum trk_policy_queue)i;
            reader->at += span;
            return TRK_OK;
        }
    }
    return policy_refuse(reader, "no queue (universal, compute or transfer)");
}

static enum trk_status policy_slow(struct policy_reader *reader, struct trk_transfer_policy *out)
{
    uint64_t percent = 0;
    enum trk_status status = policy_number(reader, false, 0, SLOW_PERCENT_MOST, &percent);
    if (status == TRK_OK && reader->text[reader->at] != '%') {
        return policy_refuse(reader, "\"%\" is missing");
    }
    reader->at += status == TRK_OK;
    out->slow = (double)percent / 100.0;
    return status;
}

static enum trk_status policy_option(struct policy_reader *reader, struct trk_transfer_policy *out)
{
    static const char *const names[] = {"queue", "threads", "ring", "batch", "slow"};
    size_t span = policy_span(reader), found = 0;
    uint64_t number = 0;
    while (found < sizeof names / sizeof *names && !policy_is(reader, span, names[found])) {
        found++;
    }
    if (found == sizeof names / sizeof *names) {
        return policy_refuse(reader, "no such option (queue, threads, ring, batch, slow)");
    }
    reader->at += span;
    if (reader->text[reader->at] != '=') {
        return policy_refuse(reader, "\"=\" is missing");
    }
    reader->at++;
    enum trk_status status = TRK_OK;
    switch (found) {
    case 0:
        return policy_queue(reader, out);
    case 1:
        status = policy_number(reader, false, 1, TRK_POLICY_THREADS_MAX, &number);
        out->threads = (uint32_t)number;
        return status;
    case 2:
        return policy_number(reader, true, RING_BYTES_LEAST, RING_BYTES_MOST, &out->ring_bytes);
    case 3:
        return policy_number(reader, true, PAGE_BYTES, RING_BYTES_MOST, &out->batch_bytes);
    default:
        return policy_slow(reader, out);
    }
}

enum trk_status trk_transfer_policy_parse(struct trk_transfer_policy *out, const char *text,
                                          struct trk_error *error)
{
    struct policy_reader reader = {.text = text, .error = error};
    struct trk_transfer_policy policy = {
        .threads = 1,
        .ring_bytes = RING_BYTES_DEFAULT,
        .batch_bytes = BATCH_BYTES_DEFAULT,
    };
    enum trk_status status = policy_word(&reader, &policy);
    while (status == TRK_OK && text[reader.at] == '+') {
        reader.at++;
        status = policy_word(&reader, &policy);
    }
    while (status == TRK_OK && text[reader.at] == ',') {
        reader.at++;
        status = policy_option(&reader, &policy);
    }
    if (status == TRK_OK && text[reader.at] != '\0') {
        status = policy_refuse(&reader, "\"+\", \",\" or the end is missing");
    }
    if (status == TRK_OK) {
        *out = policy;
    }
    return status;
}

/* ---- printing -------------------------------------------------------------------------------- */

static void policy_size(char *out, size_t size, uint64_t bytes)
{
    static const char *const units[] = {"", "K", "M", "G"};
    unsigned step = 0;
    for (; step < 3 && bytes % 1024 == 0; step++) {
        bytes /= 1024;
    }
    snprintf(out, size, "%llu%s", (unsigned long long)bytes, units[step]);
}

static void policy_append(char *out, const char *before, const char *text)
{
    size_t used = strlen(out);
    snprintf(out + used, TRK_POLICY_TEXT_BYTES - used, "%s%s", before, text);
}

void trk_transfer_policy_print(const struct trk_transfer_policy *policy,
                               char out[TRK_POLICY_TEXT_BYTES])
{
    static const char *const shapes[] = {"per-range", "coalesce:", "auto", "whole", "granule:"};
    static const char *const paths[] = {"copy",      "scatter",        "import", "direct",
                                        "host-copy", "import+scatter", "fetch"};
    char number[32];
    out[0] = '\0';
    if (policy->shape != TRK_SHAPE_PER_RANGE || policy->path == TRK_PATH_COPY) {
        policy_append(out, "", shapes[policy->shape]);
    }
    if (policy->shape == TRK_SHAPE_COALESCE || policy->shape == TRK_SHAPE_GRANULE) {
        policy_size(number, sizeof number, policy->shape_bytes);
        policy_append(out, "", number);
    }
    if (policy->path != TRK_PATH_COPY) {
        policy_append(out, out[0] != '\0' ? "+" : "", paths[policy->path]);
    }
    if (policy->queue != TRK_QUEUE_UNIVERSAL) {
        policy_append(out, ",queue=", policy_queues[policy->queue]);
    }
    if (policy->threads != 1) {
        snprintf(number, sizeof number, "%u", policy->threads);
        policy_append(out, ",threads=", number);
    }
    if (policy->ring_bytes != RING_BYTES_DEFAULT) {
        policy_size(number, sizeof number, policy->ring_bytes);
        policy_append(out, ",ring=", number);
    }
    if (policy->batch_bytes != BATCH_BYTES_DEFAULT) {
        policy_size(number, sizeof number, policy->batch_bytes);
        policy_append(out, ",batch=", number);
    }
    if (policy->slow > 0) {
        snprintf(number, sizeof number, "%.0f%%", policy->slow * 100);
        policy_append(out, ",slow=", number);
    }
}
