/*
 * Operation lines: one table of verbs, and the parser that follows it.
 *
 *     [label:] verb arguments [{ nested ; operations }] [=> result]
 *
 * The arguments of a verb are a string of letters, one an argument, in the order written:
 *     a  address            s  size, not 0         z  size, 0 too
 *     v  value 0-255        p  rights              n  name of an event or mutex
 *     m  name under memory  M  mask                w  w or r
 *     N  count              W  optional "written"  C  optional "clear"
 *     I  an injection       R  optional "offset N" and "prot P"
 *
 * Rules: scenario-format, Operations.
 */
#include <string.h>

#include "scenario_text.h"
#include "track/address.h"

enum nesting {
    NEST_NEVER,
    NEST_MAY,
    NEST_MUST,
};

struct verb {
    const char *word;
    const char *arguments;
    uint32_t results;
    enum nesting nesting;
};

#define FATAL  RESULT_BIT(RESULT_FATAL)
#define NUMBER RESULT_BIT(RESULT_NUMBER)
#define OK     RESULT_BIT(RESULT_OK)
#define FAIL   RESULT_BIT(RESULT_FAIL)
#define RANGES RESULT_BIT(RESULT_RANGES)
#define ACCESS                                                                                     \
    (RESULT_BIT(RESULT_HANDLED) | RESULT_BIT(RESULT_UNHANDLED) | RESULT_BIT(RESULT_SILENT) |       \
     RESULT_BIT(RESULT_FAULTS) | FATAL)
#define KERNEL (OK | RESULT_BIT(RESULT_EFAULT) | RESULT_BIT(RESULT_SHORT))
#define GENERATION                                                                                 \
    (NUMBER | RESULT_BIT(RESULT_NEW) | RESULT_BIT(RESULT_SAME) | RESULT_BIT(RESULT_NOT) | FATAL)

static const struct verb verbs[VERB_COUNT] = {
    [VERB_STORE] = {"store", "asv", ACCESS, NEST_NEVER},
    [VERB_LOAD] = {"load", "as", NUMBER | ACCESS, NEST_NEVER},
    [VERB_HLE_WRITE] = {"hle_write", "asv", OK | RESULT_BIT(RESULT_DENIED) | FATAL, NEST_NEVER},
    [VERB_RAW_WRITE] = {"raw_write", "asv", 0, NEST_NEVER},
    [VERB_SYS_READ] = {"sys_read", "asv", KERNEL, NEST_NEVER},
    [VERB_SYS_WRITE] = {"sys_write", "as", NUMBER | KERNEL, NEST_NEVER},
    [VERB_MAP] = {"map", "m", OK | FAIL | FATAL, NEST_NEVER},
    [VERB_UNMAP] = {"unmap", "as", OK | FAIL | FATAL, NEST_NEVER},
    [VERB_GUEST_PROTECT] = {"guest_protect", "asp", OK | FAIL | FATAL, NEST_NEVER},
    [VERB_COMMIT] = {"commit", "as", OK | FAIL | FATAL, NEST_NEVER},
    [VERB_RESERVE] = {"reserve", "as", OK | FAIL | FATAL, NEST_NEVER},
    [VERB_SPARSE_READ] = {"sparse_read", "as", NUMBER | RESULT_BIT(RESULT_REJECTED), NEST_NEVER},
    [VERB_PROT] = {"prot", "a", RESULT_BIT(RESULT_RIGHTS), NEST_NEVER},
    [VERB_IS_CPU] = {"is_cpu", "az", NUMBER | FATAL, NEST_NEVER},
    [VERB_IS_GPU] = {"is_gpu", "az", NUMBER | FATAL, NEST_NEVER},
    [VERB_MARK_CPU] = {"mark_cpu", "az", OK | FATAL, NEST_NEVER},
    [VERB_MARK_GPU] = {"mark_gpu", "az", OK | FATAL, NEST_NEVER},
    [VERB_UNMARK_GPU] = {"unmark_gpu", "az", OK | FATAL, NEST_NEVER},
    [VERB_UNTRACK] = {"untrack", "az", OK | FATAL, NEST_NEVER},
    [VERB_UPLOAD] = {"upload", "azW", RANGES | FATAL, NEST_MAY},
    [VERB_UPLOAD_AT_END] = {"upload_at_end", "azW", RANGES | FATAL, NEST_MAY},
    [VERB_IN_RANGE] = {"in_range", "", 0, NEST_MUST},
    [VERB_DOWNLOAD] = {"download", "azC", RANGES | FATAL, NEST_MAY},
    [VERB_INVALIDATE] = {"invalidate", "az", RESULT_BIT(RESULT_FLUSH) | FATAL, NEST_MAY},
    [VERB_DRAIN] = {"drain", "az", RANGES | FATAL, NEST_NEVER},
    [VERB_WATCH] = {"watch", "az", OK | FATAL, NEST_NEVER},
    [VERB_UNWATCH] = {"unwatch", "az", OK | FATAL, NEST_NEVER},
    [VERB_WATCH_MASK] = {"watch_mask", "aMw", OK | FATAL, NEST_NEVER},
    [VERB_UNWATCH_MASK] = {"unwatch_mask", "aMw", OK | FATAL, NEST_NEVER},
    [VERB_CALLS] = {"calls", "", NUMBER | RESULT_BIT(RESULT_CALLS), NEST_NEVER},
    [VERB_LOCK] = {"lock", "a", OK | FATAL, NEST_NEVER},
    [VERB_UNLOCK] = {"unlock", "a", OK | FATAL, NEST_NEVER},
    [VERB_COPY_UP] = {"copy_up", "as", 0, NEST_NEVER},
    [VERB_COPY_DOWN] = {"copy_down", "as", 0, NEST_NEVER},
    [VERB_HOST_PROTECT] = {"host_protect", "asp", 0, NEST_NEVER},
    [VERB_GPU_READ] = {"gpu_read", "as", NUMBER, NEST_NEVER},
    [VERB_GPU_WRITE] = {"gpu_write", "asv", 0, NEST_NEVER},
    [VERB_SIGNAL] = {"signal", "n", 0, NEST_NEVER},
    [VERB_AWAIT] = {"await", "n", 0, NEST_NEVER},
    [VERB_ACQUIRE] = {"acquire", "n", 0, NEST_NEVER},
    [VERB_RELEASE] = {"release", "n", OK | FATAL, NEST_NEVER},
    [VERB_FRAME] = {"frame", "", 0, NEST_NEVER},
    [VERB_REPEAT] = {"repeat", "N", 0, NEST_MUST},
    [VERB_GEN_TRACK] = {"gen_track", "az", GENERATION | FAIL, NEST_NEVER},
    [VERB_GEN] = {"gen", "az", GENERATION, NEST_NEVER},
    [VERB_GEN_HLE] = {"gen_hle", "az", OK | FATAL, NEST_NEVER},
    [VERB_GEN_REMAP] = {"gen_remap", "mR", OK | FATAL, NEST_NEVER},
    [VERB_INJECT] = {"inject", "I", 0, NEST_NEVER},
};

static const char *const inject_words[INJECT_COUNT] = {
    [INJECT_PROTECT_FAIL] = "protect-fail", [INJECT_SKIP_REARM] = "skip-rearm",
    [INJECT_DROP_FLUSH] = "drop-flush",     [INJECT_DROP_COPY] = "drop-copy",
    [INJECT_LOSE_FAULT] = "lose-fault",     [INJECT_DELAY_GPU] = "delay-gpu",
};

const char *scenario_verb_word(enum scenario_verb verb)
{
    return verbs[verb].word;
}

bool scenario_verb_ranged(enum scenario_verb verb)
{
    const char *arguments = verbs[verb].arguments;
    return arguments[0] == 'a' && (arguments[1] == 's' || arguments[1] == 'z');
}

/* ---- arguments ------------------------------------------------------------------------------- */

static bool mask_page(struct scenario_text *text, uint64_t *out)
{
    const char *at = text->at;
    if (!scenario_text_number(text, out))
        return false;
    if (*out >= TRK_REGION_PAGES)
        return scenario_text_fail(text, at, "a region has pages 0 to 1023");
    return true;
}

/* {1,3,10-14}; {} is empty. */
static bool mask_parse(struct scenario_text *text, struct scenario_op *op)
{
    op->mask = scenario_pool_take(&text->scenario->pool, TRK_REGION_WORDS * sizeof *op->mask);
    if (op->mask == NULL) {
        text->no_memory = true;
        return false;
    }
    if (!scenario_text_mark(text, '{'))
        return scenario_text_fail(text, text->at, "expected a mask as {1,3,10-14}");
    while (!scenario_text_mark(text, '}')) {
        const char *at = text->at;
        uint64_t first, last;
        if (!mask_page(text, &first))
            return false;
        last = first;
        if (scenario_text_mark(text, '-') && !mask_page(text, &last))
            return false;
        if (last < first)
            return scenario_text_fail(text, at, "a run of pages that ends before it begins");
        for (uint64_t page = first; page <= last; page++)
            op->mask[page / 64] |= UINT64_C(1) << (page % 64);
        if (!scenario_text_between(text, ',', '}'))
            return false;
    }
    return true;
}

static bool size_parse(struct scenario_text *text, struct scenario_op *op, bool zero)
{
    const char *at = text->at;
    if (!scenario_text_expression(text, &op->size_bytes))
        return false;
    uint64_t end;
    if (!zero && op->size_bytes == 0)
        return scenario_text_fail(text, at, "a size of 0 has no meaning for this operation");
    if (!zero && __builtin_add_overflow(op->guest_addr, op->size_bytes - 1, &end))
        return scenario_text_fail(text, at, "the range leaves 64 bits");
    return true;
}

static bool value_parse(struct scenario_text *text, uint64_t least, uint64_t most, uint64_t *out)
{
    const char *at = text->at;
    if (!scenario_text_number(text, out))
        return false;
    if (*out < least || *out > most)
        return scenario_text_fail(text, at, "expected a number from %llu to %llu",
                                  (unsigned long long)least, (unsigned long long)most);
    return true;
}

static bool inject_parse(struct scenario_text *text, struct scenario_op *op)
{
    for (int i = 0; i < INJECT_COUNT; i++) {
        if (!scenario_text_take(text, inject_words[i]))
            continue;
        op->inject = (enum scenario_inject)i;
        return i != INJECT_PROTECT_FAIL || value_parse(text, 1, UINT32_MAX, &op->value);
    }
    return scenario_text_fail(text, text->at,
                              "expected protect-fail N, skip-rearm, drop-flush, drop-copy, "
                              "lose-fault or delay-gpu");
}

static bool remap_parse(struct scenario_text *text, struct scenario_op *op)
{
    if (scenario_text_take(text, "offset")) {
        const char *at = text->at;
        if (!scenario_text_expression(text, &op->value))
            return false;
        if (op->value % SCENARIO_PAGE_BYTES != 0 || op->value > UINT64_C(1) << 40)
            return scenario_text_fail(text, at, "an offset is a multiple of 4096 up to 1TiB");
        op->has_offset = true;
    }
    if (scenario_text_take(text, "prot")) {
        op->has_rights = true;
        return scenario_text_rights(text, &op->rights);
    }
    return true;
}

static bool argument(struct scenario_text *text, char kind, struct scenario_op *op)
{
    switch (kind) {
    case 'a':
        return scenario_text_expression(text, &op->guest_addr);
    case 's':
    case 'z':
        return size_parse(text, op, kind == 'z');
    case 'v':
        return value_parse(text, 0, 255, &op->value);
    case 'N':
        return value_parse(text, 1, TRK_SCENARIO_REPEATS, &op->value);
    case 'p':
        return scenario_text_rights(text, &op->rights);
    case 'n':
        return scenario_text_name(text, &op->name);
    case 'm':
        return scenario_text_entry(text, &op->entry);
    case 'M':
        return mask_parse(text, op);
    case 'w':
        op->read_watch = scenario_text_take(text, "r");
        return op->read_watch || scenario_text_take(text, "w") ||
               scenario_text_fail(text, text->at, "expected w or r");
    case 'W':
        op->written = scenario_text_take(text, "written");
        return true;
    case 'C':
        op->clear = scenario_text_take(text, "clear");
        return true;
    case 'I':
        return inject_parse(text, op);
    default:
        return remap_parse(text, op);
    }
}

/* ---- one operation --------------------------------------------------------------------------- */

static bool op_parse(struct scenario_text *text, struct scenario_op *op, unsigned depth,
                     enum scenario_verb outer);

static bool nested_parse(struct scenario_text *text, struct scenario_op *op, unsigned depth)
{
    struct scenario_op *ops = NULL;
    size_t count = 0, capacity = 0;
    op->has_nested = true;
    if (depth == TRK_SCENARIO_NESTING)
        return scenario_text_fail(text, text->at, "operations nest deeper than %u",
                                  TRK_SCENARIO_NESTING);
    while (!scenario_text_mark(text, '}')) {
        ops = scenario_pool_grow(&text->scenario->pool, ops, count, &capacity, sizeof *ops);
        if (ops == NULL) {
            text->no_memory = true;
            return false;
        }
        if (!op_parse(text, &ops[count++], depth + 1, op->verb))
            return false;
        if (!scenario_text_mark(text, ';') && *text->at != '}')
            return scenario_text_fail(text, text->at, "expected ; or }");
    }
    op->nested = ops;
    op->nested_count = (uint32_t)count;
    return true;
}

static bool label_parse(struct scenario_text *text, struct scenario_op *op)
{
    const char *first = text->at;
    size_t length = scenario_text_word(text);
    if (length == 0 || first[length] != ':')
        return true;
    op->label = scenario_pool_text(&text->scenario->pool, first, length);
    text->no_memory |= op->label == NULL;
    text->at += length + 1;
    scenario_text_blanks(text);
    return op->label != NULL;
}

/* The verb in the table that a word is a slip of: the one that shares its beginning, if any. */
static const char *verb_near(const char *word, size_t length)
{
    size_t shared = 0;
    const char *near = NULL;
    for (int i = 0; i < VERB_COUNT; i++) {
        size_t same = 0;
        while (same < length && verbs[i].word[same] == word[same])
            same++;
        if (same > shared && same >= 3) {
            shared = same;
            near = verbs[i].word;
        }
    }
    return near;
}

static bool verb_parse(struct scenario_text *text, struct scenario_op *op, enum scenario_verb outer)
{
    const char *first = text->at;
    size_t length = scenario_text_word(text);
    if (length == 0)
        return scenario_text_fail(text, first, "expected an operation");
    for (int i = 0; i < VERB_COUNT; i++) {
        if (!scenario_text_take(text, verbs[i].word))
            continue;
        op->verb = (enum scenario_verb)i;
        if (i == VERB_IN_RANGE && outer != VERB_UPLOAD && outer != VERB_UPLOAD_AT_END &&
            outer != VERB_DOWNLOAD)
            return scenario_text_fail(text, first,
                                      "in_range stands only in the braces of upload, "
                                      "upload_at_end or download");
        return true;
    }
    const char *near = verb_near(first, length);
    return scenario_text_fail(text, first, "unknown operation '%.*s'%s%s%s", (int)length, first,
                              near != NULL ? "; did you mean '" : "", near != NULL ? near : "",
                              near != NULL ? "'?" : "");
}

/* The piece of text up to the cursor, without the blanks at its end. */
static const char *piece(struct scenario_text *text, const char *first)
{
    const char *end = text->at;
    while (end > first && end[-1] == ' ')
        end--;
    const char *copy = scenario_pool_text(&text->scenario->pool, first, (size_t)(end - first));
    text->no_memory |= copy == NULL;
    return copy;
}

static bool results_clause(struct scenario_text *text, struct scenario_op *op, uint32_t allowed)
{
    if (strncmp(text->at, "=>", 2) != 0)
        return true;
    if (allowed == 0)
        return scenario_text_fail(text, text->at, "%s has no result", scenario_verb_word(op->verb));
    text->at += 2;
    scenario_text_blanks(text);
    const char *first = text->at;
    if (!scenario_results_parse(text, op, allowed))
        return false;
    op->results_text = piece(text, first);
    return op->results_text != NULL;
}

static bool op_parse(struct scenario_text *text, struct scenario_op *op, unsigned depth,
                     enum scenario_verb outer)
{
    memset(op, 0, sizeof *op);
    op->number = text->number;
    op->name = op->entry = SCENARIO_NONE;
    scenario_text_blanks(text);
    op->column = (uint32_t)(text->at - text->start) + 1;
    if (!label_parse(text, op))
        return false;
    const char *first = text->at;
    if (!verb_parse(text, op, outer))
        return false;
    const struct verb *verb = &verbs[op->verb];
    for (const char *kind = verb->arguments; *kind != '\0'; kind++)
        if (!argument(text, *kind, op))
            return false;
    op->text = piece(text, first);
    if (op->text == NULL)
        return false;
    if (verb->nesting != NEST_NEVER && scenario_text_mark(text, '{')) {
        if (!nested_parse(text, op, depth))
            return false;
    } else if (verb->nesting == NEST_MUST) {
        return scenario_text_fail(text, text->at, "expected { operations }");
    }
    return results_clause(text, op, verb->results);
}

bool scenario_op_parse(struct scenario_text *text, struct scenario_op *out)
{
    if (!op_parse(text, out, 0, VERB_COUNT))
        return false;
    if (*text->at != '\0')
        return scenario_text_fail(text, text->at, "expected the end of the operation");
    return true;
}
