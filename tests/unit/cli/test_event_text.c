/*
 * Goal: every type of event says its fields under their own names, as text and as JSON.
 * Method: a table of events with the exact text; for all 256 types, known or not and with all bits
 * set, the JSON must parse.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "event_print.h"
#include "track/address.h"
#include "track/backend.h"

static char *print(const struct trk_event *event, bool json)
{
    struct trk_event_field fields[TRK_EVENT_FIELDS_MOST];
    size_t count = trk_event_text_fields(event, fields);
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    cr_assert_not_null(out);
    if (json) {
        fputs("{\"a\":0", out);
        trk_event_text_print_json(out, fields, count);
        fputs("}", out);
    } else {
        trk_event_text_print(out, fields, count);
    }
    fclose(out);
    return text;
}

struct text_case {
    const char *name;
    struct trk_event event;
    const char *text;
};

static void expect_texts(const struct text_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char *text = print(&cases[i].event, false);
        cr_expect_str_eq(text, cases[i].text, "%s:\n%s\nexpected\n%s", cases[i].name, text,
                         cases[i].text);
        free(text);
    }
}

Test(event_text, fields)
{
    struct trk_event upload = {.type = TRK_EVENT_OP_BEGIN,
                               .context = TRK_OP_UPLOAD,
                               .argument = 0x200001000,
                               .flags = TRK_OP_FLAG_WRITTEN,
                               .page = 2};
    trk_event_set_size(&upload, UINT64_C(5) << 32);
    struct trk_event map = {.type = TRK_EVENT_MAP,
                            .argument = 0x300000000,
                            .context = TRK_RIGHTS_RW,
                            .flags = TRK_MAP_ALIAS | TRK_MAP_UNTRACKED};
    trk_event_set_size(&map, 4096);
    trk_event_set_number32(&map, 0x12345);
    const struct text_case cases[] = {
        {"op_begin", upload,
         " op=upload guest_addr=0x200001000 size=21474836480 tracker=2 written"},
        {"lock",
         {.type = TRK_EVENT_LOCK, .domain = trk_domain(TRK_DOMAIN_REGION, 1, 2048), .seq = 9},
         " domain=region tracker=1 region=0x200000000 hold=9"},
        {"protect",
         {.type = TRK_EVENT_PROTECT,
          .domain = trk_domain(TRK_DOMAIN_PAGES, 0, 2048),
          .seq = 1,
          .page = 3,
          .pages = 4,
          .flags = TRK_RIGHT_READ | TRK_EVENT_HOLD_END},
         " domain=pages tracker=0 region=0x200000000 hold=1 guest_addr=0x200003000 pages=4 "
         "rights=r-- hold_end"},
        {"op_end of a fault",
         {.type = TRK_EVENT_OP_END, .context = TRK_OP_FAULT, .argument = TRK_FAULT_SERVED},
         " op=fault status=ok outcome=served"},
        {"fault over no region",
         {.type = TRK_EVENT_FAULT,
          .argument = 0x1234,
          .flags = TRK_ACCESS_WRITE,
          .domain = trk_domain((enum trk_domain_class)0, 3, 0),
          .context = TRK_LOOK_UNKNOWN},
         " access=write guest_addr=0x1234 look=unknown tracker=3"},
        {"fail",
         {.type = TRK_EVENT_FAIL, .context = TRK_E_RETAINED, .flags = TRK_OP_INVALIDATE, .seq = 8},
         " class=retained op=invalidate guest_addr=0x0 size=8"},
        {"map", map, " guest_addr=0x300000000 size=4096 frame=74565 rights=rw- alias untracked"},
        {"witness",
         {.type = TRK_EVENT_WITNESS_CHECK,
          .argument = 0x2000,
          .seq = 1024,
          .domain = 77,
          .flags = TRK_AGENT_GPU},
         " agent=gpu guest_addr=0x2000 size=1024 stamp=77"},
        {"await", {.type = TRK_EVENT_AWAIT, .domain = 3, .argument = 8}, " timeline=3 value=8"},
        {"copy down",
         {.type = TRK_EVENT_COPY_END, .argument = 0x1000, .seq = 16, .context = TRK_COPY_DOWN},
         " direction=down guest_addr=0x1000 size=16 resource=0"},
    };
    expect_texts(cases, sizeof cases / sizeof cases[0]);
}

Test(event_text, fields_of_foreign_trackers)
{
    const struct text_case cases[] = {
        {"foreign tracker without a policy",
         {.type = TRK_EVENT_FOREIGN,
          .seq = 16384,
          .page = 2,
          .context = TRK_BACKEND_MPROTECT,
          .flags = TRK_NOTES_LOCKS | TRK_NOTES_LOADS},
         " tracker=2 backend=mprotect notes_locks closes_loads policy=none page_size=16384"},
        {"owner's lock",
         {.type = TRK_EVENT_LOCK, .domain = trk_domain(TRK_DOMAIN_OWNER, 2, 77), .seq = 9},
         " domain=owner tracker=2 lock=77 hold=9"},
        {"operation with an origin",
         {.type = TRK_EVENT_OP_BEGIN,
          .context = TRK_OP_MARK_CPU,
          .argument = 0x4000,
          .seq = 64,
          .pages = TRK_ORIGIN_KERNEL},
         " op=mark_cpu guest_addr=0x4000 size=64 tracker=0 origin=kernel"},
        {"refused protection",
         {.type = TRK_EVENT_HOST_PROTECT,
          .argument = 0x4000,
          .seq = 4096,
          .flags = TRK_RIGHT_READ | TRK_EVENT_FAILED,
          .context = 12},
         " tracker=0 guest_addr=0x4000 size=4096 rights=r-- failed errno=12"},
        {"decision",
         {.type = TRK_EVENT_DECISION, .argument = 0x4001, .context = TRK_DECISION_READ_BACK},
         " tracker=0 guest_addr=0x4001 decision=read-back"},
        {"access",
         {.type = TRK_EVENT_ACCESS,
          .argument = 0x4000,
          .seq = 8,
          .flags = TRK_AGENT_KERNEL,
          .context = TRK_ACCESS_WRITE},
         " agent=kernel access=write guest_addr=0x4000 size=8"},
        {"image",
         {.type = TRK_EVENT_IMAGE,
          .argument = 0x4000,
          .seq = 65536,
          .page = 64,
          .pages = 256,
          .flags = 4,
          .context = 11},
         " guest_addr=0x4000 size=65536 width=64 height=256 texel=4 resource=11"},
        {"dispatch",
         {.type = TRK_EVENT_DISPATCH, .argument = 2, .page = 7, .pages = 1, .context = 3},
         " accesses=2 tick=65543 shader=3"},
        {"label with a control character",
         {.type = TRK_EVENT_LABEL,
          .argument = UINT64_C(0x6867666564630a61),
          .seq = 0x6a69,
          .flags = TRK_LABEL_LAST,
          .context = 4},
         " object=4 piece=0 last text=a\\x0acdefghij"},
    };
    expect_texts(cases, sizeof cases / sizeof cases[0]);
}

Test(event_text, json_of_every_type)
{
    for (unsigned type = 0; type < 256; type++) {
        for (unsigned fill = 0; fill < 2; fill++) {
            struct trk_event event;
            memset(&event, fill ? 0xff : 0, sizeof event);
            event.type = (uint8_t)type;
            char *text = print(&event, true);
            cJSON *parsed = cJSON_Parse(text);
            cr_expect_not_null(parsed, "%s", text);
            const cJSON *member;
            cJSON_ArrayForEach(member, parsed)
            {
                bool exact = !cJSON_IsNumber(member) || member->valuedouble <= 9007199254740992.0;
                cr_expect(exact, "type %u: a number above 2^53: %s", type, text);
            }
            cJSON_Delete(parsed);
            free(text);
        }
    }
}

Test(event_text, touches)
{
    static const struct {
        const char *name;
        struct trk_event event;
        bool touches;
    } cases[] = {
        {"ends at the first byte",
         {.type = TRK_EVENT_GPU_READ, .argument = 0x3000, .seq = 4097},
         true},
        {"ends before it", {.type = TRK_EVENT_GPU_READ, .argument = 0x3000, .seq = 4096}, false},
        {"starts at the last byte",
         {.type = TRK_EVENT_GPU_READ, .argument = 0x4fff, .seq = 1},
         true},
        {"starts behind it", {.type = TRK_EVENT_GPU_READ, .argument = 0x5000, .seq = 1}, false},
        {"no address", {.type = TRK_EVENT_MARK, .argument = 0x4000}, false},
        {"everything", {.type = TRK_EVENT_COPY_END, .argument = 0, .seq = UINT32_MAX}, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t at;
        cr_expect_eq(trk_event_text_touches(NULL, &cases[i].event, 0x4000, 0x1000, &at),
                     cases[i].touches, "%s", cases[i].name);
        cr_expect_eq(at, cases[i].event.type == TRK_EVENT_MARK ? TRK_NOT_KNOWN
                                                               : cases[i].event.argument);
    }
}
