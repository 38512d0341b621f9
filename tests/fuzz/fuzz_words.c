/*
 * Goal: no words of a command line, and no file of ranges, make their readers crash or hang; what
 * is refused has a reason, and what is taken can be used.
 * Method: each input is read as a range, as a policy, and as a file of ranges behind @. What is
 * taken as a range is asked about events.
 */
#include "given.h"

#include <string.h>

#include "fuzz.h"
#include "number.h"
#include "policy_words.h"
#include "range.h"

static void read_range(const char *text)
{
    struct trk_range range;
    struct trk_error error = {.text = ""};
    struct trk_trace_event event = {.tsc = 0};
    if (trk_range_parse(text, &range, &error) != TRK_OK) {
        expect(error.text[0] != '\0', "fuzz_words: a range refused without a reason");
        expect(range.set == NULL, "fuzz_words: a range refused, and not given back");
        return;
    }
    expect(range.kind == TRK_RANGE_REGION || range.first <= range.last,
           "fuzz_words: a range that ends before it begins");
    expect(range.step > 0, "fuzz_words: a range without a step");
    range.ticks_a_microsecond = 1;
    for (uint64_t number = 0; number < 4; number++) {
        event.number = number == 3 ? range.first : number;
        event.tsc += 1000;
        event.event = (struct trk_event){.type = TRK_EVENT_FRAME, .argument = event.number};
        bool has = trk_range_has(&range, &event);
        expect(!has || number == 3 || range.kind != TRK_RANGE_EVENTS || number >= range.first,
               "fuzz_words: a range has what is before it");
    }
    trk_range_free(&range);
}

static void read_policy(const char *text)
{
    struct trk_policy policy;
    struct trk_error error = {.text = ""};
    if (trk_policy_words_read(text, &policy, &error) == TRK_OK)
        expect(trk_policy_check(&policy) == TRK_OK, "fuzz_words: a policy that is none");
    else
        expect(error.text[0] != '\0', "fuzz_words: a policy refused without a reason");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
    char path[40];
    uint64_t number;
    char *text = malloc(size_bytes + 1); /* of its own, so that a sanitizer sees its end */
    if (text == NULL)
        return 0;
    memcpy(text, bytes, size_bytes);
    text[size_bytes] = '\0';
    if (text[0] != '@') /* that would be anybody's file */
        read_range(text);
    read_policy(text);
    (void)trk_number_parse_size(text, &number);
    free(text);
    snprintf(path, sizeof path, "@/proc/self/fd/%d", given(bytes, size_bytes));
    read_range(path);
    return 0;
}
