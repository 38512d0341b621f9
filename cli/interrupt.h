/*
 * An interrupt that ends work instead of the program.
 */
#ifndef CLI_INTERRUPT_H
#define CLI_INTERRUPT_H

#include <signal.h>
#include <stdbool.h>

/*
 * From now on SIGINT sets *flag to value, and a second one ends the program. One that was ignored
 * when the program started stays so, as in a script's background. restart: system calls go on
 * behind it.
 */
void trk_interrupt_watch(volatile sig_atomic_t *flag, sig_atomic_t value, bool restart);

#endif
