#include "generated_program.h"

#include <criterion/criterion.h>
#include <string.h>

#include "chance.h"

static uint32_t below(struct generated *text, uint32_t bound)
{
    return (uint32_t)(trk_chance_next(&text->random) % bound);
}

static void add(struct generated *text, const char *words)
{
    size_t length = strlen(words);
    cr_assert_lt(text->used + length, sizeof text->bytes);
    memcpy(text->bytes + text->used, words, length + 1);
    text->used += length;
}

/* S begins two pages before a region's edge; T shows the same bytes; H is no memory of the GPU. */
static void add_place(struct generated *text)
{
    static const char *const places[] = {"S 64", "S+P 64", "S+2P 64", "S+P 2P",
                                         "S 3P", "T 64",   "T+P 2P",  "S+P+8 8"};
    add(text, places[below(text, sizeof places / sizeof places[0])]);
}

static void add_op(struct generated *text)
{
    /* Some more often than others: what fails ends a schedule. */
    static const char *const plain[] = {
        "load",   "load",    "is_cpu",   "is_gpu",   "upload",     "upload",     "upload",
        "drain",  "drain",   "download", "gpu_read", "invalidate", "invalidate", "unmark_gpu",
        "upload", "untrack", "mark_cpu", "mark_gpu", "watch"};
    static const char *const writing[] = {"store", "hle_write", "raw_write", "sys_read",
                                          "gpu_write"};
    static const char *const whole[] = {"unmap T 4P",
                                        "map T",
                                        "guest_protect S 2P r",
                                        "gen_track S 1G",
                                        "gen S 1G",
                                        "gen_remap T prot r",
                                        "signal e",
                                        "inject protect-fail 1",
                                        "guest_protect S 2P rw",
                                        "gen_hle S 64"};
    uint32_t kind = below(text, 12);
    if (kind < 6) {
        add(text, plain[below(text, sizeof plain / sizeof plain[0])]);
        add(text, " ");
        add_place(text);
    } else if (kind < 9) {
        add(text, writing[below(text, sizeof writing / sizeof writing[0])]);
        add(text, " ");
        add_place(text);
        add(text, below(text, 2) ? " 1" : " 2");
    } else if (kind < 10) {
        add(text, whole[below(text, sizeof whole / sizeof whole[0])]);
    } else {
        static const char *const around[] = {"upload", "download", "invalidate"};
        static const char *const within[] = {"gpu_write", "gpu_read", "drain"};
        uint32_t which = below(text, 3);
        add(text, around[which]);
        add(text, " ");
        add_place(text);
        if (which < 2 && below(text, 4) > 0)
            add(text, which == 0 ? " written" : " clear");
        add(text, " { ");
        add(text, within[which]);
        add(text, " ");
        add_place(text);
        add(text, which == 0 ? " 3 }" : " }");
    }
}

static void add_ops(struct generated *text, uint32_t most)
{
    uint32_t count = 1 + below(text, most);
    for (uint32_t i = 0; i < count; i++) {
        add(text, i > 0 ? ", \"" : "\"");
        add_op(text);
        add(text, "\"");
    }
}

void generated_program(struct generated *text, uint64_t seed)
{
    *text = (struct generated){.random = seed};
    static const char *const policies[] = {
        "\"default\"",
        "\"kyty-2026-08\"",
        "\"strict\"",
        "{\"generations\": true}",
        "{\"generations\": true, \"page_size\": 16384, \"line_size\": 64}",
        "{\"fault_width\": 8}"};
    uint32_t threads = 2 + below(text, 2);
    add(text, "{\"scenario\": 1, \"name\": \"generated\", \"policy\": ");
    add(text, policies[below(text, sizeof policies / sizeof policies[0])]);
    add(text, ", \"memory\": {\"S\": {\"at\": \"0x2003FE000\", \"size\": \"4P\"}");
    add(text, ", \"T\": {\"at\": \"0x200800000\", \"alias_of\": \"S\"");
    add(text, below(text, 2) ? "}}" : ", \"mapped\": false}}");
    add(text, ", \"init\": [");
    add_ops(text, 2);
    add(text, "], \"threads\": {\"a\": [");
    add_ops(text, threads == 2 ? 3 : 1);
    add(text, "], \"b\": [");
    add_ops(text, threads == 2 ? 2 : 1);
    if (threads == 3) {
        add(text, "], \"c\": [");
        add_ops(text, 1);
    }
    add(text, "]}, \"schedule\": \"explore\"}");
}
