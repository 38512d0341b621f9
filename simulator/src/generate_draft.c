/*
 * The text of a scenario under way, and the chance that it is made by.
 */
#include "generate_draft.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chance.h"

uint32_t draft_below(struct draft *draft, uint32_t bound)
{
    return (uint32_t)((trk_chance_next(&draft->random) >> 32) * bound >> 32);
}

static bool room(struct draft *draft, size_t more)
{
    if (draft->used + more < draft->capacity)
        return true;
    size_t capacity = draft->capacity * 2 + more + 4096;
    char *text = draft->no_memory ? NULL : realloc(draft->text, capacity);
    draft->no_memory |= text == NULL;
    if (text == NULL)
        return false;
    draft->text = text;
    draft->capacity = capacity;
    return true;
}

static void say(struct draft *draft, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (length < 0 || !room(draft, (size_t)length + 1))
        return;
    vsnprintf(draft->text + draft->used, draft->capacity - draft->used, format, arguments);
    draft->used += (size_t)length;
}

void draft_say(struct draft *draft, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(draft, format, arguments);
    va_end(arguments);
}

void draft_begin(struct draft *draft)
{
    draft_say(draft, "%s\n    \"", draft->operations > 0 ? "," : "");
    draft->operations++;
    draft->op_begin = draft->used;
}

/* Cut what stands behind each => of the operation. */
static void cut_results(struct draft *draft)
{
    size_t kept = draft->op_begin;
    bool result = false;
    for (size_t at = kept; at < draft->used; at++) {
        const char *text = draft->text + at;
        if (strncmp(text, " =>", 3) == 0)
            result = true;
        else if (strncmp(text, " }", 2) == 0 || strncmp(text, " ;", 2) == 0)
            result = false;
        if (!result)
            draft->text[kept++] = *text;
    }
    draft->used = kept;
}

void draft_end(struct draft *draft)
{
    if (draft->careless && !draft->no_memory)
        cut_results(draft);
    draft_say(draft, "\"");
}

void draft_op(struct draft *draft, const char *format, ...)
{
    va_list arguments;
    draft_begin(draft);
    va_start(arguments, format);
    say(draft, format, arguments);
    va_end(arguments);
    draft_end(draft);
}

static void say_offset(struct draft *draft, char name, uint64_t offset)
{
    draft_say(draft, "%c", name);
    if (offset / HOST_PAGE_BYTES > 0)
        draft_say(draft, "+%" PRIu64 "P", offset / HOST_PAGE_BYTES);
    if (offset % HOST_PAGE_BYTES > 0)
        draft_say(draft, "+%" PRIu64, offset % HOST_PAGE_BYTES);
}

void draft_say_addr(struct draft *draft, uint64_t guest_addr)
{
    for (uint32_t i = 0; i < draft->entry_count; i++) {
        const struct draft_entry *entry = &draft->entries[i];
        uint64_t bytes = entry->page_count * draft->policy.page_bytes;
        if (guest_addr - entry->guest_addr < bytes) {
            say_offset(draft, entry->name, guest_addr - entry->guest_addr);
            return;
        }
        if (entry->alias != 0 && guest_addr - entry->alias_addr < bytes) {
            say_offset(draft, entry->alias, guest_addr - entry->alias_addr);
            return;
        }
    }
    draft_say(draft, "0x%" PRIx64, guest_addr);
}

void draft_say_span(struct draft *draft, struct span span)
{
    draft_say_addr(draft, span.guest_addr);
    if (span.size_bytes % HOST_PAGE_BYTES == 0)
        draft_say(draft, " %" PRIu64 "P", span.size_bytes / HOST_PAGE_BYTES);
    else
        draft_say(draft, " %" PRIu64, span.size_bytes);
}

void draft_op_on(struct draft *draft, const char *word, struct span span, const char *rest)
{
    draft_begin(draft);
    draft_say(draft, "%s ", word);
    draft_say_span(draft, span);
    draft_say(draft, "%s", rest);
    draft_end(draft);
}
