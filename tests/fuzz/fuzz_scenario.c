/*
 * Goal: no file makes the parser of scenarios crash, hang or stay silent on why it refused.
 * Method: each input is parsed as it is, and once more as the one operation of a file that is
 * right but for it, so that the language of operations is reached without its JSON around it. What
 * is parsed is parsed twice and must end the same way.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "simulator/scenario.h"

#define OPERATION_MAX 4096u

static const char head[] = "{\"scenario\": 1, \"name\": \"n\", \"memory\": {\"A\": {\"at\": "
                           "\"0x200010000\", \"size\": \"4P\"}, \"B\": {\"at\": \"2TiB-1TiB\", "
                           "\"alias_of\": \"A\"}}, \"threads\": {\"t\": [\"";
static const char tail[] = "\"]}}";

static void check(int good, const char *what)
{
    if (!good) {
        fprintf(stderr, "fuzz_scenario: %s\n", what);
        abort();
    }
}

/* 0 when the file is a scenario, otherwise a sum over what was found wrong. */
static uint64_t parse(const char *json, size_t size_bytes)
{
    struct trk_scenario *scenario = NULL;
    struct trk_scenario_fault fault;
    uint64_t sum = 1;
    enum trk_status status = trk_scenario_parse(&scenario, json, size_bytes, &fault);
    if (status == TRK_OK) {
        check(trk_scenario_name(scenario)[0] != '\0', "accepted without a name");
        check(memchr(json, '\0', size_bytes) == NULL, "accepted with a NUL in it");
        trk_scenario_destroy(scenario);
        return 0;
    }
    if (status == TRK_E_MEMORY)
        return 2;
    check(status == TRK_E_ARGUMENT, "unexpected status");
    check(memchr(fault.where, '\0', sizeof fault.where) != NULL, "a place without an end");
    check(memchr(fault.text, '\0', sizeof fault.text) != NULL, "a message without an end");
    check(fault.text[0] != '\0', "refused without a message");
    check(fault.column <= size_bytes + 1, "a column behind the file");
    for (const char *c = fault.where; *c != '\0'; c++)
        sum = sum * 31 + (unsigned char)*c;
    for (const char *c = fault.text; *c != '\0'; c++)
        sum = sum * 31 + (unsigned char)*c;
    return sum * 31 + fault.column;
}

static void parse_twice(const char *json, size_t size_bytes)
{
    uint64_t sum = parse(json, size_bytes);
    check(parse(json, size_bytes) == sum, "the second time is different");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
    parse_twice((const char *)bytes, size_bytes);
    if (size_bytes > OPERATION_MAX)
        return 0;
    size_t whole = sizeof head - 1 + size_bytes + sizeof tail - 1;
    char *json = malloc(whole); /* of its own, so that a sanitizer sees its end */
    if (json == NULL)
        return 0;
    memcpy(json, head, sizeof head - 1);
    if (size_bytes > 0)
        memcpy(json + sizeof head - 1, bytes, size_bytes);
    memcpy(json + sizeof head - 1 + size_bytes, tail, sizeof tail - 1);
    parse_twice(json, whole);
    free(json);
    return 0;
}
