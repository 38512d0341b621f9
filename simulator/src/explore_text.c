/*
 * Text that grows.
 */
#include "explore_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static bool reserve(struct growing *growing, size_t more)
{
    if (growing->size + more < growing->capacity)
        return true;
    size_t capacity = (growing->size + more) * 2 + 128;
    char *larger = realloc(growing->text, capacity);
    growing->no_memory |= larger == NULL;
    if (larger == NULL)
        return false;
    growing->text = larger;
    growing->capacity = capacity;
    return true;
}

void growing_add(struct growing *growing, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0 || growing->no_memory || !reserve(growing, (size_t)length + 1))
        return;
    va_start(arguments, format);
    vsnprintf(growing->text + growing->size, (size_t)length + 1, format, arguments);
    va_end(arguments);
    growing->size += (size_t)length;
}

void growing_clear(struct growing *growing)
{
    growing->size = 0;
    if (growing->text != NULL)
        growing->text[0] = '\0';
}

void growing_deinit(struct growing *growing)
{
    free(growing->text);
}
