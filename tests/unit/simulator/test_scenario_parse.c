/*
 * Goal: nothing in a scenario file passes in silence; each fault is named with its place.
 * Method: one small fault a file, against the place, the column and the words of the message.
 * Rules: scenario-format, Keys to Expect and fine print 5, 12, 17.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/scenario.h"

#define HEAD "\"scenario\": 1, \"name\": \"n\""
#define A    "\"A\": {\"at\": \"0x200010000\", \"size\": \"2P\"}"
/* A file that is right but for one operation, one entry, one further key. */
#define OP(text)    "{" HEAD ", \"memory\": {" A "}, \"threads\": {\"t\": [\"" text "\"]}}"
#define ENTRY(text) "{" HEAD ", \"memory\": {" text "}, \"threads\": {}}"
#define KEY(text)   "{" HEAD ", \"memory\": {" A "}, \"threads\": {\"t\": [\"l: frame\"]}, " text "}"

#define NAME(text) "{\"scenario\": 1, \"name\": \"" text "\", \"threads\": {}}"

struct refusal {
    const char *name, *json, *where, *text;
    uint32_t column;
};

static const struct refusal refusals[] = {
    {"no JSON", "{\"scenario\": 1,\n \"name\" \"n\"}", "line 2", "not valid JSON", 9},
    {"text behind", "{}\n x", "line 2", "not valid JSON", 2},
    {"a list", "[]", "", "expected a JSON object", 0},
    {"NUL in an operation", OP("store A 8 1\\u0000 x"), "line 1", "NUL in a string", 114},
    {"NUL in a key", "{" HEAD ",\n \"about\\u0000\": 1}", "line 2", "NUL in a string", 8},
    {"control character", "{" HEAD ", \"about\": \"a\tb\"}", "line 1", "control character", 41},
    {"control as a blank", "{\x01}", "line 1", "control character", 2},
    {"byte of no text", "{" HEAD ", \"about\": \"\xff\"}", "line 1", "not UTF-8", 40},
    {"byte that only goes on", "{\"\x80\"}", "line 1", "not UTF-8", 3},
    {"sequence cut by the string", "{\"\xe2\x82\"}", "line 1", "not UTF-8", 3},
    {"sequence cut by the end", "{\"\xf0\x9f\x98", "line 1", "not UTF-8", 3},
    {"longer than needed", "{\"\xc0\x80\"}", "line 1", "not UTF-8", 3},
    {"half of a pair", "{\"\xed\xa0\x80\"}", "line 1", "not UTF-8", 3},
    {"behind the last character", "{\"\xf4\x90\x80\x80\"}", "line 1", "not UTF-8", 3},
    {"no version", "{\"name\": \"n\", \"threads\": {}}", "", "key scenario is missing", 0},
    {"version 2", "{\"scenario\": 2, \"name\": \"n\", \"threads\": {}}", "scenario", "version 2",
     0},
    {"no name", "{\"scenario\": 1, \"threads\": {}}", "", "key name is missing", 0},
    {"name in words", NAME("a b"), "name", "kebab-case", 0},
    {"name in capitals", NAME("Abc"), "name", "kebab-case", 0},
    {"name with a dash too many", NAME("a--b"), "name", "kebab-case", 0},
    {"name that ends in a dash", NAME("a-"), "name", "kebab-case", 0},
    {"name of nothing", NAME(""), "name", "kebab-case", 0},
    {"name of 64 bytes", NAME("0123456789012345678901234567890123456789012345678901234567890123"),
     "name", "short", 0},
    {"no threads", "{" HEAD "}", "", "key threads is missing", 0},
    {"unknown key", KEY("\"polcy\": {}"), "polcy", "unknown key", 0},
    {"key twice", KEY("\"about\": \"a\", \"about\": \"b\""), "about", "twice", 0},
    {"source", KEY("\"source\": [1]"), "source", "list of strings", 0},

    {"policy preset", KEY("\"policy\": \"fast\""), "policy", "expected default", 0},
    {"policy key", KEY("\"policy\": {\"pages\": 1}"), "policy.pages", "unknown key", 0},
    {"policy word", KEY("\"policy\": {\"arena\": \"high\"}"), "policy.arena", "low+extended, low",
     0},
    {"fault width", KEY("\"policy\": {\"fault_width\": 4}"), "policy.fault_width", "4 is not", 0},
    {"page size", KEY("\"policy\": {\"page_size\": 8192}"), "policy.page_size", "8192", 0},
    {"line size", KEY("\"policy\": {\"line_size\": 48}"), "policy.line_size", "48", 0},
    {"limit", KEY("\"policy\": {\"max_mappings\": -1}"), "policy.max_mappings", "whole number", 0},

    {"entry's key", ENTRY("\"A\": {\"at\": 4096, \"size\": 4096, \"siez\": 1}"), "memory.A.siez",
     "unknown key", 0},
    {"no size", ENTRY("\"A\": {\"at\": 4096}"), "memory.A", "size is missing", 0},
    {"no address", ENTRY("\"A\": {\"size\": 4096}"), "memory.A", "at is missing", 0},
    {"odd address", ENTRY("\"A\": {\"at\": \"1P+1\", \"size\": \"1P\"}"), "memory.A.at", "4096", 0},
    {"odd size", ENTRY("\"A\": {\"at\": \"1P\", \"size\": \"1P+8\"}"), "memory.A.size", "4096", 0},
    {"size of 0", ENTRY("\"A\": {\"at\": \"1P\", \"size\": 0}"), "memory.A.size", "not 0", 0},
    {"unit's name", ENTRY("\"G\": {\"at\": \"1P\", \"size\": \"1P\"}"), "memory.G", "unit's name",
     0},
    {"bad name", ENTRY("\"A-B\": {\"at\": \"1P\", \"size\": \"1P\"}"), "memory.A-B", "name of", 0},
    {"bad rights", ENTRY("\"A\": {\"at\": \"1P\", \"size\": \"1P\", \"prot\": \"w\"}"),
     "memory.A.prot", "none, r, rw or rx", 1},
    {"overlap", ENTRY(A ", \"B\": {\"at\": \"0x200011000\", \"size\": \"1P\"}"), "memory.B",
     "overlaps A", 0},
    {"alias of none", ENTRY("\"A\": {\"at\": \"1P\", \"alias_of\": \"B\"}"), "memory.A.alias_of",
     "another memory", 0},
    {"alias of itself", ENTRY("\"A\": {\"at\": \"1P\", \"size\": \"1P\", \"alias_of\": \"A\"}"),
     "memory.A.alias_of", "another memory", 0},
    {"view of a view",
     ENTRY(A ", \"B\": {\"at\": \"1GiB\", \"alias_of\": \"A\"}, \"C\": {\"at\": \"2GiB\", "
             "\"alias_of\": \"B\"}"),
     "memory.C", "view of a view", 0},
    {"view too large",
     ENTRY(A ", \"B\": {\"at\": \"1GiB\", \"size\": \"3P\", \"alias_of\": \"A\"}"),
     "memory.B.alias_of", "larger than its original", 0},
    {"too much memory", ENTRY("\"A\": {\"at\": \"1P\", \"size\": \"5GiB\"}"), "memory.A",
     "pages of memory", 0},
    {"bad expression", ENTRY("\"A\": {\"at\": \"1P+\", \"size\": \"1P\"}"), "memory.A.at",
     "expected a number", 4},

    {"thread's name", "{" HEAD ", \"threads\": {\"init\": []}}", "threads.init", "no names", 0},
    {"thread's kind", "{" HEAD ", \"threads\": {\"t\": {\"kind\": \"cpu\", \"run\": []}}}",
     "threads.t.kind", "guest, host or gpu", 0},
    {"thread without run", "{" HEAD ", \"threads\": {\"t\": {\"kind\": \"gpu\"}}}", "threads.t",
     "run is missing", 0},
    {"no operation", "{" HEAD ", \"threads\": {\"t\": [\"frame\", 3]}}", "threads.t, operation 2",
     "expected a string", 0},

    {"unknown verb", OP("stor A 8 1"), "threads.t, operation 1", "did you mean 'store'", 1},
    {"verb of nothing", OP("x: "), "threads.t, operation 1", "expected an operation", 4},
    {"unknown unit", OP("load A 3Q"), "threads.t, operation 1", "unknown unit 'Q'", 9},
    {"unknown memory", OP("load B 8"), "threads.t, operation 1", "'B' is no name", 6},
    {"below 0", OP("load 1P-2P 8"), "threads.t, operation 1", "leaves 64 bits", 6},
    {"above 64 bits", OP("load 0x10000000000000000 8"), "threads.t, operation 1", "64 bits", 6},
    {"size 0 of a load", OP("load A 0"), "threads.t, operation 1", "size of 0", 8},
    {"range that wraps", OP("load 0xffffffffffffffff 2"), "threads.t, operation 1", "64 bits", 25},
    {"value of 256", OP("store A 8 256"), "threads.t, operation 1", "0 to 255", 11},
    {"no value", OP("store A 8"), "threads.t, operation 1", "expected a number", 10},
    {"one word more", OP("frame now"), "threads.t, operation 1", "expected the end", 7},
    {"repeat 0", OP("repeat 0 { frame }"), "threads.t, operation 1", "from 1", 8},
    {"repeats of repeats", OP("repeat 100000 { repeat 100000 { frame } }"),
     "threads.t, operation 1", "more than 16777216 steps", 1},
    {"repeats of nothing", OP("repeat 1000000 { repeat 1000000 { } }"), "threads.t, operation 1",
     "more than 16777216 steps", 1},
    {"repeats one after another",
     OP("repeat 1000000 { frame; frame; frame; frame; frame; frame; frame; frame }\", "
        "\"repeat 1000000 { frame; frame; frame; frame; frame; frame; frame }"),
     "threads.t, operation 2", "more than 16777216 steps", 1},
    {"repeats of a wide range", OP("repeat 65 { mark_cpu 1P 1TiB-1P }"), "threads.t, operation 1",
     "more than 16777216 steps", 1},
    {"repeats of all memory",
     "{" HEAD ", \"memory\": {\"A\": {\"at\": \"1P\", \"size\": \"256M\"}}, \"threads\": {\"t\": "
     "[\"repeat 256 { gpu_write A 1TiB 1 }\"]}}",
     "threads.t, operation 1", "more than 16777216 steps", 1},
    {"repeat nothing", OP("repeat 2"), "threads.t, operation 1", "expected { operations }", 9},
    {"nothing behind , of a mask", OP("watch_mask A {1,} w"), "threads.t, operation 1",
     "behind this ,", 16},
    {"nothing behind , of a list", OP("upload A 1P => [A 1P,]"), "threads.t, operation 1",
     "behind this ,", 21},
    {"answer of 2", OP("is_cpu A 8 => 2"), "threads.t, operation 1", "never gives", 15},
    {"byte of 256", OP("load A 8 => 256"), "threads.t, operation 1", "never gives", 13},
    {"generation by number", OP("gen A 8 => 1"), "threads.t, operation 1", "never gives", 12},
    {"no schedules", KEY("\"expect\": {\"schedules\": 0}"), "expect.schedules", "one schedule", 0},
    {"mask page", OP("watch_mask A {1024} w"), "threads.t, operation 1", "0 to 1023", 15},
    {"mask backwards", OP("watch_mask A {9-8} w"), "threads.t, operation 1", "before it begins",
     15},
    {"mask kind", OP("watch_mask A {1} x"), "threads.t, operation 1", "expected w or r", 18},
    {"injection", OP("inject lose-faults"), "threads.t, operation 1", "lose-fault", 8},
    {"odd offset", OP("gen_remap A offset 100"), "threads.t, operation 1", "multiple of 4096", 20},
    {"in_range outside", OP("invalidate A 8 { in_range { frame } }"), "threads.t, operation 1",
     "in_range stands only", 18},
    {"braces open", OP("upload A 1P { frame"), "threads.t, operation 1", "expected ; or }", 20},
    {"braces of a store", OP("store A 8 1 { frame }"), "threads.t, operation 1", "expected the end",
     13},
    {"nested verb", OP("upload A 1P { frame ; fram }"), "threads.t, operation 1",
     "unknown operation 'fram'", 23},
    {"no result", OP("frame => ok"), "threads.t, operation 1", "frame has no result", 7},
    {"other's result", OP("store A 8 1 => denied"), "threads.t, operation 1", "no such result", 16},
    {"unknown result", OP("is_cpu A 8 => yes"), "threads.t, operation 1", "expected a result", 15},
    {"unknown class", OP("mark_cpu A 8 => fatal lazy"), "threads.t, operation 1", "a class", 23},
    {"list of calls", OP("calls => [A 1P]"), "threads.t, operation 1", "none, r, rw or rx", 15},

    {"schedule word", KEY("\"schedule\": \"any\""), "schedule", "in-order, explore", 0},
    {"schedule thread", KEY("\"schedule\": [\"t\", \"u\"]"), "schedule, entry 2", "no thread", 0},
    {"schedule label", KEY("\"schedule\": [\"t@m\"]"), "schedule, entry 1", "no label 'm'", 0},
    {"schedule of finally", KEY("\"schedule\": [\"finally\"]"), "schedule, entry 1", "no thread",
     0},
    {"random without runs", KEY("\"schedule\": {\"random\": 1}"), "schedule", "runs is missing", 0},
    {"pct without depth", KEY("\"schedule\": {\"pct\": 1, \"runs\": 1}"), "schedule", "depth", 0},
    {"random key", KEY("\"schedule\": {\"random\": 1, \"runs\": 1, \"depth\": 1}"),
     "schedule.depth", "unknown key", 0},

    {"verdict", KEY("\"expect\": {\"verdict\": \"fine\"}"), "expect.verdict", "a verdict", 0},
    {"verdict of traces", KEY("\"expect\": {\"verdict\": \"divergence\"}"), "expect.verdict",
     "verdict of scenarios", 0},
    {"in all", KEY("\"expect\": {\"verdict\": \"ok\", \"in\": \"all\"}"), "expect.in", "some", 0},
    {"both", KEY("\"expect\": {\"verdict\": \"ok\", \"verdicts\": [\"ok\"]}"), "expect", "either",
     0},
    {"verdict twice", KEY("\"expect\": {\"verdicts\": [\"ok\", \"ok\"]}"), "expect.verdicts",
     "twice", 0},
    {"label of none", KEY("\"expect\": {\"verdict\": \"mismatch\", \"at\": \"m\"}"), "expect.at",
     "no operation has the label 'm'", 0},
};

static void check_one(const struct refusal *one)
{
    struct trk_scenario *scenario = NULL;
    struct trk_scenario_fault fault;
    enum trk_status status = trk_scenario_parse(&scenario, one->json, strlen(one->json), &fault);
    cr_assert_eq(status, TRK_E_ARGUMENT, "%s: status %d", one->name, (int)status);
    cr_expect_str_eq(fault.where, one->where, "%s: at '%s'", one->name, fault.where);
    cr_expect_eq(fault.column, one->column, "%s: column %u", one->name, fault.column);
    cr_expect(strstr(fault.text, one->text) != NULL, "%s: says '%s'", one->name, fault.text);
}

Test(scenario_parse, refuses)
{
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++)
        check_one(&refusals[i]);
}

/* What stands around the faults above is right: each of these is a scenario. */
static const char *const accepted[] = {
    OP("store A 8 1"),
    OP("l : frame"),
    OP("l:frame"),
    OP("upload A+1P-8 0x10 written { in_range { frame ; } ; repeat 2 { is_cpu A 1P } } => [A 1P]"),
    OP("watch_mask A {0,3-5,1023} r => fatal watch"),
    OP("gen_remap A offset 2G+1K+3K prot rx => ok"),
    OP("load 1TiB-1GiB+1M 8 => 3, handled, faults 2"),
    OP("repeat 1000000 { frame; frame; frame; frame; frame; frame; frame; frame }"),
    OP("repeat 63 { mark_cpu 1P 1TiB-1P }"),
    OP("repeat 100 { mark_cpu 1P 9TiB => fatal range }"),
    KEY("\"about\": \"no NUL: \\\\u0000, \\u0001, \\\"; \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\""),
    KEY("\"expect\": {\"verdict\": \"livelock\", \"in\": \"some\", \"at\": \"l\"}"),
    KEY("\"schedule\": [\"t\", \"t@l\"], \"about\": \"x\", \"source\": [\"a\"]"),
    "{" HEAD ", \"threads\": {\"t\": [\"repeat 1 { frame; repeat 1 { m: frame } }\"]}, "
    "\"schedule\": [\"t@m\"]}",
    KEY("\"schedule\": {\"pct\": 9, \"depth\": 3, \"runs\": 10}"),
    KEY("\"policy\": {\"preset\": \"kyty-2026-08\", \"line_size\": 4096, \"generations\": false}"),
    ENTRY("\"A\": {\"at\": 8192, \"size\": \"1G\", \"private\": true, \"reserved\": true}"),
};

Test(scenario_parse, accepts)
{
    for (size_t i = 0; i < sizeof accepted / sizeof accepted[0]; i++) {
        struct trk_scenario *scenario = NULL;
        struct trk_scenario_fault fault;
        enum trk_status status =
            trk_scenario_parse(&scenario, accepted[i], strlen(accepted[i]), &fault);
        if (i == 1) { /* no blank before the colon: a label is a word and its colon */
            cr_expect_eq(status, TRK_E_ARGUMENT);
            continue;
        }
        cr_expect_eq(status, TRK_OK, "%s: %s, %u: %s", accepted[i], fault.where, fault.column,
                     fault.text);
        trk_scenario_destroy(scenario);
    }
}

/* Every beginning of a file is refused, and none is read past its end. */
Test(scenario_parse, every_beginning)
{
    static const char whole[] =
        "{" HEAD ", \"about\": \"\xf0\x9f\x98\x80\", \"memory\": {" A "}, \"threads\": {\"t\": "
        "[\"upload A 1P written { gpu_write A 8 7 } => [A 1P]\"]}}";
    for (size_t size = 0; size + 1 < sizeof whole; size++) {
        char *piece = malloc(size + 1); /* of its own, so that a sanitizer sees its end */
        cr_assert_not_null(piece);
        memcpy(piece, whole, size);
        struct trk_scenario *scenario = NULL;
        struct trk_scenario_fault fault;
        cr_expect_eq(trk_scenario_parse(&scenario, piece, size, &fault), TRK_E_ARGUMENT, "%zu",
                     size);
        free(piece);
    }
}

/* How many of something are in a file; count + 1 of it are refused, and named before a look. */
struct bound {
    const char *name, *head, *one, *tail, *where, *text;
    unsigned count;
};

static const struct bound bounds[] = {
    {"threads", "{" HEAD ", \"threads\": {\"x\": []", ", \"t%u\": []", "}}", "threads",
     "more than 64 threads", TRK_SCENARIO_THREADS - 1},
    {"threads of one name", "{" HEAD ", \"threads\": {\"x\": []", ", \"x\": []", "}}", "threads",
     "more than 64 threads", 0},
    {"entries", "{" HEAD ", \"threads\": {}, \"memory\": {\"A\": {\"at\": 0, \"size\": 4096}",
     ", \"a%u\": {\"at\": \"%uP\", \"size\": 4096}", "}}", "memory", "more than 4096 entries",
     TRK_SCENARIO_ENTRIES - 1},
    {"names", "{" HEAD ", \"threads\": {\"t\": [\"await x\"", ", \"signal n%u\"",
     ", \"await x\", \"await n7\"]}}", "threads.t, operation 65537", "more than 65536 names",
     TRK_SCENARIO_NAMES - 1},
};

static enum trk_status parse_many(const struct bound *bound, unsigned count,
                                  struct trk_scenario_fault *fault)
{
    char *json =
        malloc(strlen(bound->head) + count * (strlen(bound->one) + 20) + strlen(bound->tail) + 1);
    cr_assert_not_null(json);
    char *end = stpcpy(json, bound->head);
    for (unsigned i = 1; i <= count; i++)
        end += sprintf(end, bound->one, i, i);
    strcpy(end, bound->tail);
    struct trk_scenario *scenario = NULL;
    enum trk_status status = trk_scenario_parse(&scenario, json, strlen(json), fault);
    trk_scenario_destroy(status == TRK_OK ? scenario : NULL);
    free(json);
    return status;
}

Test(scenario_parse, bounds)
{
    struct trk_scenario_fault fault;
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        const struct bound *bound = &bounds[i];
        unsigned more = bound->count > 0 ? bound->count + 1 : 100;
        cr_expect_eq(parse_many(bound, bound->count, &fault), TRK_OK, "%s: %s: %s", bound->name,
                     fault.where, fault.text);
        cr_expect_eq(parse_many(bound, more, &fault), TRK_E_ARGUMENT, "%s", bound->name);
        cr_expect_str_eq(fault.where, bound->where, "%s: at '%s'", bound->name, fault.where);
        cr_expect(strstr(fault.text, bound->text) != NULL, "%s: says '%s'", bound->name,
                  fault.text);
    }
}

/* Deeper braces than the named maximum are refused; as deep as it are not. */
Test(scenario_parse, nesting)
{
    for (unsigned depth = TRK_SCENARIO_NESTING; depth <= TRK_SCENARIO_NESTING + 1; depth++) {
        char json[4096] = "{" HEAD ", \"threads\": {\"t\": [\"";
        for (unsigned i = 0; i < depth; i++)
            strcat(json, "repeat 1 { ");
        strcat(json, "frame ");
        for (unsigned i = 0; i < depth; i++)
            strcat(json, "} ");
        strcat(json, "\"]}}");
        struct trk_scenario *scenario = NULL;
        struct trk_scenario_fault fault;
        enum trk_status status = trk_scenario_parse(&scenario, json, strlen(json), &fault);
        cr_expect_eq(status, depth <= TRK_SCENARIO_NESTING ? TRK_OK : TRK_E_ARGUMENT, "%s",
                     fault.text);
        trk_scenario_destroy(status == TRK_OK ? scenario : NULL);
    }
}
