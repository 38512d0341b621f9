#include "text_lines.h"

char *trk_text_lines_next(struct trk_text_lines *lines)
{
    size_t length = 0;
    int c = getc(lines->file);
    if (c == EOF) {
        return NULL;
    }
    lines->number++;
    for (; c != EOF && c != '\n' && c != '\0' && length + 1 < sizeof lines->text;
         c = getc(lines->file)) {
        lines->text[length++] = (char)c;
    }
    lines->text[length] = '\0';
    lines->why = c == '\0'                             ? "it is no text"
                 : c != EOF && c != '\n'               ? "it is too long"
                 : lines->number > TRK_TEXT_LINES_MOST ? "there are too many lines before it"
                                                       : NULL;
    return lines->why == NULL ? lines->text : NULL;
}
