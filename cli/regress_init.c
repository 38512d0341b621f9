/* The recipe by which an emulator's own tests run a regression. */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "command.h"
#include "out_file.h"
#include "regress.h"
#include "terminal.h"

#define CMAKE_FILE    "trk-regress.cmake"
#define WORKFLOW_FILE ".github/workflows/trk-regress.yml"

static const char cmake_text[] =
    "# The stored traces against this project's tracker. Written by `trk regress --init`; it is "
    "yours\n"
    "# to change. In CMakeLists.txt, behind enable_testing():  include(trk-regress.cmake)\n"
    "find_program(TRK_PROGRAM trk REQUIRED)\n"
    "set(TRK_TRACES \"%s\" CACHE PATH \"Folder of stored traces\")\n"
    "set(TRK_CORE \"%s\" CACHE STRING \"The tracker's plug-in; empty: the core inside trk\")\n"
    "set(trk_regress \"${TRK_PROGRAM}\" regress --jobs 2\n"
    "                --junit \"${CMAKE_CURRENT_BINARY_DIR}/trk-regress.xml\")\n"
    "if(TRK_CORE)\n"
    "  list(APPEND trk_regress --core \"${TRK_CORE}\")\n"
    "endif()\n"
    "# The report of the last run makes room for the next one.\n"
    "add_test(NAME trk.regress.fresh COMMAND \"${CMAKE_COMMAND}\" -E rm -f\n"
    "                                        \"${CMAKE_CURRENT_BINARY_DIR}/trk-regress.xml\")\n"
    "add_test(NAME trk.regress COMMAND ${trk_regress} \"${TRK_TRACES}\"\n"
    "         WORKING_DIRECTORY \"${CMAKE_CURRENT_LIST_DIR}\")\n"
    "set_tests_properties(trk.regress.fresh PROPERTIES FIXTURES_SETUP trk_regress)\n"
    "set_tests_properties(trk.regress PROPERTIES FIXTURES_REQUIRED trk_regress)\n";

static const char workflow_text[] =
    "# Written by `trk regress --init`; it is yours to change.\n"
    "# TRK_REPOSITORY is a variable of this repository: where trk's source is (owner/name).\n"
    "name: trk regress\n"
    "on: [push, pull_request]\n"
    "jobs:\n"
    "  regress:\n"
    "    runs-on: ubuntu-24.04\n"
    "    steps:\n"
    "      - uses: actions/checkout@v4\n"
    "      - uses: actions/checkout@v4\n"
    "        with:\n"
    "          repository: ${{ vars.TRK_REPOSITORY }}\n"
    "          path: .trk\n"
    "      - name: What trk needs\n"
    "        run: >\n"
    "          sudo apt-get update && sudo apt-get install -y cmake ninja-build pkg-config\n"
    "          libzstd-dev libcjson-dev libxxhash-dev libsqlite3-dev libvulkan-dev\n"
    "      - name: Build trk\n"
    "        run: |\n"
    "          cmake -S .trk -B .trk/build -G Ninja -DTRK_TESTS=OFF -DTRK_BENCH=OFF\n"
    "          cmake --build .trk/build\n"
    "          echo \"$PWD/.trk/build/cli\" >> \"$GITHUB_PATH\"\n"
    "      - name: Build this project\n"
    "        run: |\n"
    "          cmake -S . -B build -G Ninja\n"
    "          cmake --build build\n"
    "      - name: Regress\n"
    "        run: ctest --test-dir build --output-on-failure -R '^trk\\.regress'\n"
    "      - uses: actions/upload-artifact@v4\n"
    "        if: always()\n"
    "        with:\n"
    "          name: trk-regress\n"
    "          path: build/trk-regress.xml\n";

/* Text inside a quoted argument of CMake. */
static void quote(const char *text, char *out, size_t size)
{
    size_t used = 0;
    for (const char *at = text; *at != '\0' && used + 3 < size; at++) {
        if (strchr("\\\"$;", *at) != NULL) {
            out[used++] = '\\';
        }
        out[used++] = *at;
    }
    out[used] = '\0';
}

static int write_file(const char *path, const char *text)
{
    struct trk_error error = {.file_offset = TRK_NOT_KNOWN, .event_number = TRK_NOT_KNOWN};
    struct trk_out_file file;
    enum trk_status status = trk_out_file_begin(&file, path, false, &error);
    if (status == TRK_OK) {
        status = trk_out_file_write(&file, text, strlen(text), &error);
        if (status == TRK_OK) {
            status = trk_out_file_finish(&file, &error);
        }
        trk_out_file_close(&file);
    }
    if (status != TRK_OK) {
        return trk_terminal_error("regress", path, &error);
    }
    printf("%s\n", path);
    return TRK_EXIT_OK;
}

int trk_regress_init(const char *folder, const char *core)
{
    char text[4 * PATH_MAX + sizeof cmake_text], quoted[2][2 * PATH_MAX];
    struct stat about;
    if (stat(CMAKE_FILE, &about) == 0 || stat(WORKFLOW_FILE, &about) == 0) {
        trk_terminal_say("regress", "--init: " CMAKE_FILE " or " WORKFLOW_FILE " exists");
        return TRK_EXIT_USAGE;
    }
    if ((mkdir(".github", 0777) != 0 && errno != EEXIST) ||
        (mkdir(".github/workflows", 0777) != 0 && errno != EEXIST)) {
        struct trk_error error;
        (void)trk_error_set_errno(&error, TRK_E_SYSTEM, errno, "the folder cannot be made");
        return trk_terminal_error("regress", ".github/workflows", &error);
    }
    quote(folder, quoted[0], sizeof quoted[0]);
    quote(core != NULL ? core : "", quoted[1], sizeof quoted[1]);
    snprintf(text, sizeof text, cmake_text, quoted[0], quoted[1]);
    int code = write_file(CMAKE_FILE, text);
    return code == TRK_EXIT_OK ? write_file(WORKFLOW_FILE, workflow_text) : code;
}
