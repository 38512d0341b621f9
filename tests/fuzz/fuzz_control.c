/*
 * Goal: no bytes in a recording's control FIFO, and no list of triggers, make the recording crash
 * or hang; each command is one line, whole, but for the number before it.
 * Method: each input is written to a pipe in two parts and read as commands until none comes, of
 * which the short ones have their answer later; and it is read as a list, which then sees events.
 */
#include "given.h"

#include <fcntl.h>
#include <string.h>

#include "fuzz.h"
#include "record_control.h"
#include "record_text.h"
#include "record_trigger.h"

#define ROOM 32768u /* of the pipe, at least */

/* Whether a number that is the asker's ends here, and stands at the begin of a line. */
static bool is_behind_number(const char *text, size_t at)
{
    size_t number = at - 1;
    if (text[number] != ' ')
        return false;
    while (number > 0 && text[number - 1] != '\n' && text[number - 1] != '\030' &&
           text[number - 1] != ' ')
        number--;
    return text[number] == '#' && at - number < TRK_RECORD_CONTROL_WHO &&
           (number == 0 || text[number - 1] != ' ');
}

/* Whether the line is one of the input, whole. */
static bool is_line(const char *command, const char *text, size_t size_bytes)
{
    size_t length = strlen(command);
    for (size_t at = 0; at + length < size_bytes; at++) {
        bool begins =
            at == 0 || text[at - 1] == '\n' || text[at - 1] == '\030' || is_behind_number(text, at);
        if (begins && text[at + length] == '\n' && memcmp(text + at, command, length) == 0)
            return true;
    }
    return false;
}

static size_t read_commands(struct trk_record_control *control, const char *text, size_t size_bytes)
{
    size_t count = 0;
    for (size_t none = 0; none <= size_bytes / TRK_CONTROL_LINE + 1;) {
        const char *command = trk_record_control_next(control);
        none += command == NULL;
        count += command != NULL;
        expect(command == NULL || command[0] == '\0' || is_line(command, text, size_bytes),
               "fuzz_control: a command that nobody wrote");
        if (command != NULL && strlen(command) > 2)
            trk_record_control_answer(control, command);
    }
    return count;
}

static void command(const uint8_t *bytes, size_t size_bytes)
{
    struct trk_record_control control = {.answers = -1};
    int ends[2];
    size_t lines = 0;
    size_t half = size_bytes / 2;
    if (size_bytes > ROOM || pipe2(ends, O_NONBLOCK | O_CLOEXEC) != 0)
        return;
    char *text = malloc(size_bytes + 1);
    for (size_t i = 0; text != NULL && i < size_bytes; i++) {
        text[i] = (char)(bytes[i] != 0 ? bytes[i] : '?');
        lines += text[i] == '\n';
    }
    if (text != NULL) {
        control.commands = ends[0];
        expect(write(ends[1], bytes, half) == (ssize_t)half, "fuzz_control: a pipe without room");
        size_t count = read_commands(&control, text, size_bytes);
        expect(write(ends[1], bytes + half, size_bytes - half) == (ssize_t)(size_bytes - half),
               "fuzz_control: a pipe without room");
        count += read_commands(&control, text, size_bytes);
        expect(count == lines, "fuzz_control: not a command a line");
    }
    free(text);
    close(ends[0]);
    close(ends[1]);
}

static void trigger(const uint8_t *bytes, size_t size_bytes)
{
    static struct trk_record_trigger trigger;
    struct trk_error error = {.text = ""};
    char closest[160];
    char *text = malloc(size_bytes + 1); /* of its own, so that a sanitizer sees its end */
    if (text == NULL)
        return;
    memcpy(text, bytes, size_bytes);
    text[size_bytes] = '\0';
    if (trk_record_trigger_parse(&trigger, text, &error) == TRK_OK) {
        for (uint64_t i = 0; i < 8; i++) {
            struct trk_record record = {
                .tsc = i,
                .event = {.type = i % 2 == 0 ? TRK_EVENT_FRAME : TRK_EVENT_MARK,
                          .argument = i / 2}};
            trk_record_trigger_event(&trigger, &record);
        }
        trk_record_trigger_end(&trigger, true, 9);
        for (size_t i = 0; i < TRK_RECORD_TRIGGER_ALL; i++)
            (void)trk_record_trigger_unmet(&trigger, i, closest, sizeof closest);
    } else {
        expect(error.text[0] != '\0', "fuzz_control: triggers refused without a reason");
    }
    trk_record_text_clean(text);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
    command(bytes, size_bytes);
    trigger(bytes, size_bytes);
    return 0;
}
