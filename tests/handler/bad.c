/* handler_bad HOW: does in a signal handler what must not be done there, so that the poison shows.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *how;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void *volatile block;

static void on_signal(int number)
{
    (void)number;
    if (strcmp(how, "malloc") == 0)
        block = malloc(16);
    else if (strcmp(how, "free") == 0)
        free(block);
    else if (strcmp(how, "lock") == 0)
        pthread_mutex_lock(&mutex);
    else if (strcmp(how, "stdio") == 0)
        puts("text");
    else if (strcmp(how, "getenv") == 0)
        block = getenv("HOME");
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = on_signal};
    how = argc > 1 ? argv[1] : "";
    block = malloc(16);
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    return 0;
}
