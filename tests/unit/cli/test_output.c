/*
 * Goal: what leaves the program is safe to show and to parse, and traces without a name get one.
 * Method: tables of bad UTF-8, of numbers at the edge of exactness, of directories with odd names.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "json_out.h"
#include "terminal.h"
#include "trace_dir.h"

Test(json_out, utf8)
{
    static const struct {
        const char *text, *clean;
    } cases[] = {
        {"plain", "plain"},
        {"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
        {"\xf0\x9f\x8e\xae", "\xf0\x9f\x8e\xae"},
        {"a\xff"
         "b",
         "a\xef\xbf\xbd"
         "b"},
        {"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},                 /* overlong */
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* a surrogate */
        {"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"cut\xe2\x82", "cut\xef\xbf\xbd\xef\xbf\xbd"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char clean[64];
        trk_json_out_utf8(cases[i].text, clean, sizeof clean);
        cr_expect_str_eq(clean, cases[i].clean, "case %zu", i);
    }
    char small[4];
    trk_json_out_utf8("ab\xc3\xbc", small, sizeof small);
    cr_expect_str_eq(small, "ab", "a character is never cut in two");
}

Test(json_out, values)
{
    cJSON *object = trk_json_out_object("trk-test/1");
    trk_json_out_number(object, "small", 9007199254740992);
    trk_json_out_number(object, "large", 9007199254740993);
    trk_json_out_number(object, "none", TRK_NOT_KNOWN);
    trk_json_out_address(object, "address", 0x080000000000);
    trk_json_out_text(object, "absent", NULL);
    char *text = cJSON_PrintUnformatted(object);
    cr_expect_str_eq(text, "{\"schema\":\"trk-test/1\",\"small\":9007199254740992,"
                           "\"large\":\"9007199254740993\",\"none\":null,"
                           "\"address\":\"0x80000000000\",\"absent\":null}");
    cJSON_free(text);
    cJSON_Delete(object);
}

Test(terminal, text_is_harmless)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    trk_terminal_text(out, "a\033[2Jb\n\x7f\xc2\x9b"
                           "c\xc3\xbc");
    fclose(out);
    cr_expect_str_eq(text, "a\\x1b[2Jb\\x0a\\x7f\\x9bc\xc3\xbc");
    free(text);
}

Test(terminal, exit_codes)
{
    static const struct {
        struct trk_error error;
        int code;
    } cases[] = {
        {{.status = TRK_OK}, 0},
        {{.status = TRK_E_ARGUMENT}, 2},
        {{.status = TRK_E_EXISTS}, 2},
        {{.status = TRK_E_SYSTEM, .os_errno = 2 /* ENOENT */}, 2},
        {{.status = TRK_E_SYSTEM, .os_errno = 13 /* EACCES */}, 4},
        {{.status = TRK_E_SYSTEM}, 4},
        {{.status = TRK_E_DAMAGED}, 3},
        {{.status = TRK_E_INCOMPLETE}, 3},
        {{.status = TRK_E_VERSION}, 4},
        {{.status = TRK_E_UNSUPPORTED}, 4},
        {{.status = TRK_E_MEMORY}, 4},
        {{.status = TRK_E_LIVELOCK}, 70},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cr_expect_eq(trk_terminal_exit_code(&cases[i].error), cases[i].code, "case %zu", i);
    }
}

Test(clock, prints)
{
    static const struct {
        const char *header;
        uint64_t ticks, from;
        const char *text;
    } cases[] = {
        {"{\"tsc_hz\":2000000000}", 3000, 1000, "1.000"},
        {"{\"tsc_hz\":\"2000000000\"}", 1000, 3000, "-1.000"},
        {"{}", 3000, 1000, "2000"},
        {"{\"tsc_hz\":0}", 1000, 3000, "-2000"},
        {"{\"tsc_hz\":1e300}", 3000, 1000, "2000"},
        {"{\"tsc_hz\":[]}", 3000, 1000, "2000"},
        {"not json", 3000, 1000, "2000"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct trk_clock clock = trk_clock_from_header(cases[i].header);
        char text[40];
        trk_clock_print(&clock, cases[i].ticks, cases[i].from, text, sizeof text);
        cr_expect_str_eq(text, cases[i].text, "%s", cases[i].header);
    }
}

static void touch(const char *directory, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fclose(file);
}

static void take_away(const char *directory, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    unlink(path);
}

Test(trace_dir, names)
{
    static const char *const files[] = {"trk-2.trk", "trk-10.trk",  "trk-011.trk", "trk-.trk",
                                        "trk-x.trk", "trk-99.json", "99.trk",      "trk-0x63.trk"};
    char base[] = "/tmp/trk-unit-XXXXXX";
    char directory[80];
    char path[256];
    cr_assert_not_null(mkdtemp(base));
    snprintf(directory, sizeof directory, "%s/a", base);
    setenv("TRK_TRACE_DIR", directory, 1);
    cr_expect_eq(trk_trace_dir_latest(path, sizeof path, NULL), TRK_E_ARGUMENT, "no directory");
    cr_expect_eq(trk_trace_dir_next(path, sizeof path, NULL), TRK_OK);
    cr_expect_str_eq(path + strlen(directory), "/trk-1.trk");
    cr_expect_eq(trk_trace_dir_latest(path, sizeof path, NULL), TRK_E_ARGUMENT, "none in it");
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        touch(directory, files[i]);
    }
    cr_expect_eq(trk_trace_dir_latest(path, sizeof path, NULL), TRK_OK);
    cr_expect_str_eq(path + strlen(directory), "/trk-10.trk", "got %s", path);
    cr_expect_eq(trk_trace_dir_next(path, sizeof path, NULL), TRK_OK);
    cr_expect_str_eq(path + strlen(directory), "/trk-11.trk", "got %s", path);
    char small[16];
    cr_expect_eq(trk_trace_dir_latest(small, sizeof small, NULL), TRK_E_ARGUMENT, "too small");
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        take_away(directory, files[i]);
    }
    rmdir(directory);
    rmdir(base);
}

Test(trace_dir, variables)
{
    char path[256];
    unsetenv("TRK_TRACE_DIR");
    setenv("XDG_DATA_HOME", "/x", 1);
    setenv("HOME", "/h", 1);
    cr_expect_eq(trk_trace_dir_path(path, sizeof path, NULL), TRK_OK);
    cr_expect_str_eq(path, "/x/trk");
    unsetenv("XDG_DATA_HOME");
    cr_expect_eq(trk_trace_dir_path(path, sizeof path, NULL), TRK_OK);
    cr_expect_str_eq(path, "/h/.local/share/trk");
    setenv("HOME", "", 1);
    cr_expect_eq(trk_trace_dir_path(path, sizeof path, NULL), TRK_E_UNSUPPORTED);
}
