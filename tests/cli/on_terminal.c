/*
 * Runs a program whose standard error is a terminal, for the tests of what is shown there.
 *
 *     on_terminal FILE PROGRAM [ARGUMENT...]
 *
 * What it says there goes to FILE, as the terminal would get it. Ends with its exit code, or 128
 * and the number of its signal; 70: the terminal cannot be had.
 */
#define _GNU_SOURCE /* posix_openpt, ptsname_r */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "on_terminal: %s: %s\n", what, strerror(errno));
    exit(70);
}

/* Lines come as they are written, without a carriage return more. */
static void plain(int fd)
{
    struct termios settings;
    if (tcgetattr(fd, &settings) != 0) {
        fail("tcgetattr");
    }
    settings.c_oflag &= ~(tcflag_t)OPOST;
    if (tcsetattr(fd, TCSANOW, &settings) != 0) {
        fail("tcsetattr");
    }
}

int main(int argc, char **argv)
{
    char name[64], buffer[4096];
    ssize_t got;
    int status = 0;
    if (argc < 3) {
        fprintf(stderr, "usage: on_terminal FILE PROGRAM [ARGUMENT...]\n");
        return 70;
    }
    int outer = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (outer < 0 || grantpt(outer) != 0 || unlockpt(outer) != 0 ||
        ptsname_r(outer, name, sizeof name) != 0) {
        fail("no terminal");
    }
    int inner = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    FILE *out = fopen(argv[1], "wbe");
    if (inner < 0 || out == NULL) {
        fail(inner < 0 ? name : argv[1]);
    }
    plain(inner);
    pid_t pid = fork();
    if (pid == 0) {
        (void)dup2(inner, STDERR_FILENO);
        execvp(argv[2], argv + 2);
        _exit(127);
    }
    close(inner);
    /* EIO: nobody has the other end any more. */
    while ((got = read(outer, buffer, sizeof buffer)) > 0 || (got < 0 && errno == EINTR)) {
        if (got > 0) {
            (void)!fwrite(buffer, 1, (size_t)got, out);
        }
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return fclose(out) != 0      ? 70
           : WIFSIGNALED(status) ? 128 + WTERMSIG(status)
                                 : WEXITSTATUS(status);
}
