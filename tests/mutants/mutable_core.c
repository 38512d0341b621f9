/* Which seeded fault the plug-in with all of them has in force: TRK_MUTANT in the environment. */
#include <stdbool.h>
#include <stdlib.h>

#include "mutation.h"

bool trk_mutant(unsigned number)
{
    static unsigned in_force;
    static bool known;
    if (!known) {
        const char *text = getenv("TRK_MUTANT");
        in_force = text != NULL ? (unsigned)strtoul(text, NULL, 10) : 0;
        known = true;
    }
    return number == in_force;
}
