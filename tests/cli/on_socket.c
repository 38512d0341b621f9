/*
 * Runs a program whose standard input is a socket, as servers start theirs.
 *
 *     on_socket PROGRAM [ARGUMENT...]
 *
 * What comes on standard input goes through the socket. Ends with the program's exit code, or 128
 * and the number of its signal; 70: there is no socket.
 */
#define _GNU_SOURCE /* SOCK_CLOEXEC */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "on_socket: %s: %s\n", what, strerror(errno));
    exit(70);
}

/* Until there is no more, or nobody reads. */
static void feed(int to)
{
    char buffer[4096];
    ssize_t got;
    while ((got = read(STDIN_FILENO, buffer, sizeof buffer)) > 0) {
        for (ssize_t at = 0; at < got;) {
            ssize_t sent = send(to, buffer + at, (size_t)(got - at), MSG_NOSIGNAL);
            if (sent < 0) {
                return;
            }
            at += sent;
        }
    }
}

int main(int argc, char **argv)
{
    int ends[2];
    int status = 0;
    if (argc < 2) {
        fprintf(stderr, "usage: on_socket PROGRAM [ARGUMENT...]\n");
        return 70;
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        fail("no socket");
    }
    pid_t pid = fork();
    if (pid == 0) {
        (void)dup2(ends[1], STDIN_FILENO);
        execvp(argv[1], argv + 1);
        fail(argv[1]);
    }
    if (pid < 0) {
        fail("fork");
    }
    close(ends[1]);
    feed(ends[0]);
    close(ends[0]);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
