#include "ending.h"

#include <sys/wait.h>

enum ending ending_of(const struct trk_trace *trace)
{
    int status = trk_trace_state(trace).child_status;
    if (status == -1)
        return ENDING_OPEN;
    return WIFSIGNALED(status) ? ENDING_KILLED : ENDING_OWN;
}
