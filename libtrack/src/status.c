/*
 * The words for statuses, and filling an error.
 */
#include "track/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *trk_status_name(enum trk_status status)
{
    switch (status) {
    case TRK_OK:
        return "ok";
    case TRK_E_RANGE:
        return "range";
    case TRK_E_REENTRY:
        return "reentry";
    case TRK_E_CONFLICT:
        return "conflict";
    case TRK_E_RETAINED:
        return "retained";
    case TRK_E_UNTRACK:
        return "untrack";
    case TRK_E_LOCK:
        return "lock";
    case TRK_E_WATCH:
        return "watch";
    case TRK_E_PROTECT:
        return "protect";
    case TRK_E_LIVELOCK:
        return "livelock";
    case TRK_E_ARGUMENT:
        return "argument";
    case TRK_E_MEMORY:
        return "memory";
    case TRK_E_SYSTEM:
        return "system";
    case TRK_E_UNSUPPORTED:
        return "unsupported";
    case TRK_E_EXISTS:
        return "exists";
    case TRK_E_DAMAGED:
        return "damaged";
    case TRK_E_INCOMPLETE:
        return "incomplete";
    case TRK_E_VERSION:
        return "version";
    case TRK_E_END:
        return "end";
    }
    return "unknown";
}

static void TRK_PRINTF(3, 0)
    fill(struct trk_error *error, enum trk_status status, const char *format, va_list arguments)
{
    error->status = status;
    error->os_errno = 0;
    error->file_offset = TRK_NOT_KNOWN;
    error->event_number = TRK_NOT_KNOWN;
    error->text[0] = '\0';
    (void)vsnprintf(error->text, sizeof error->text, format, arguments);

    /* A file name in an argument may hold a newline; the text is promised to be one line. */
    for (char *c = error->text; *c != '\0'; c++) {
        if (*c == '\n' || *c == '\r')
            *c = ' ';
    }
}

enum trk_status trk_error_set(struct trk_error *error, enum trk_status status, const char *format,
                              ...)
{
    if (error == NULL)
        return status;
    va_list arguments;
    va_start(arguments, format);
    fill(error, status, format, arguments);
    va_end(arguments);
    return status;
}

enum trk_status trk_error_set_errno(struct trk_error *error, enum trk_status status, int os_errno,
                                    const char *format, ...)
{
    if (error == NULL)
        return status;
    va_list arguments;
    va_start(arguments, format);
    fill(error, status, format, arguments);
    va_end(arguments);
    size_t used = strlen(error->text);
    (void)snprintf(error->text + used, sizeof error->text - used, "%s%s", used > 0 ? ": " : "",
                   strerror(os_errno));
    error->os_errno = os_errno;
    return status;
}
