#include "interrupt.h"

#include <stddef.h>

static volatile sig_atomic_t *its_flag;
static sig_atomic_t its_value;

static void on_interrupt(int number)
{
    (void)number;
    *its_flag = its_value;
}

void trk_interrupt_watch(volatile sig_atomic_t *flag, sig_atomic_t value, bool restart)
{
    struct sigaction now;
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};
    if (sigaction(SIGINT, NULL, &now) == 0 && now.sa_handler == SIG_IGN) {
        return;
    }
    its_flag = flag;
    its_value = value;
    action.sa_flags |= restart ? SA_RESTART : 0;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
}
