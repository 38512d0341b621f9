/*
 * The words of a step, and its result.
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "script_runner.h"

void runner_say(struct runner *runner, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int used = vsnprintf(runner->result + runner->result_used, RESULT_BYTES - runner->result_used,
                         format, arguments);
    va_end(arguments);
    runner->result_used += (size_t)used;
    if (runner->result_used >= RESULT_BYTES)
        abort();
}

void runner_skip_blanks(struct runner *runner)
{
    while (*runner->at == ' ')
        runner->at++;
}

/* The next word, up to a blank; "" at the end or before "=>". */
const char *runner_word(struct runner *runner, char *out, size_t out_bytes)
{
    size_t used = 0;
    runner_skip_blanks(runner);
    while (*runner->at != '\0' && *runner->at != ' ' && strncmp(runner->at, "=>", 2) != 0 &&
           used + 1 < out_bytes)
        out[used++] = *runner->at++;
    out[used] = '\0';
    return out;
}

/* A sum of pages, regions and bytes, in bytes. */
uint64_t runner_amount(struct runner *runner)
{
    char text[64];
    const char *at = runner_word(runner, text, sizeof text);
    uint64_t total = 0;
    bool minus = false;
    if (*at == '\0')
        abort();
    if (*at == '-') {
        minus = true;
        at++;
    }
    while (*at != '\0') {
        bool bytes = *at == 'b';
        at += bytes;
        char *end = NULL;
        uint64_t number = isdigit((unsigned char)*at) ? strtoull(at, &end, 0) : 1;
        at = end != NULL ? end : at;
        uint64_t unit = bytes ? 1 : TRK_HOST_PAGE_BYTES;
        if (*at == 'R') {
            unit = TRK_REGION_BYTES;
            at++;
        }
        total = minus ? total - number * unit : total + number * unit;
        minus = *at == '-';
        if (*at == '+' || *at == '-')
            at++;
        else if (*at != '\0')
            abort();
    }
    return total;
}

uint64_t runner_place(struct runner *runner)
{
    return FIXTURE_BASE + runner_amount(runner);
}

const char *runner_rights_text(unsigned rights)
{
    static const char *const texts[] = {"none", "r", "w", "rw", "x", "rx", "wx", "rwx"};
    return texts[rights & 7u];
}

unsigned runner_rights_of(const char *text)
{
    unsigned rights = 0;
    if (strcmp(text, "none") == 0)
        return 0;
    for (; *text != '\0'; text++)
        rights |= *text == 'r' ? 1u : *text == 'w' ? 2u : 4u;
    return rights;
}
