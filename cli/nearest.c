#include "nearest.h"

#include <string.h>

static size_t least_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Letters to put in, take out, change or swap to make b of a; at least TRK_NEAREST_LETTERS when
 * one of them is longer than that. */
static size_t distance_of(const char *a, const char *b)
{
    size_t rows[3][TRK_NEAREST_LETTERS + 1];
    size_t a_length = strlen(a);
    size_t b_length = strlen(b);
    if (a_length > TRK_NEAREST_LETTERS || b_length > TRK_NEAREST_LETTERS) {
        return TRK_NEAREST_LETTERS;
    }
    for (size_t j = 0; j <= b_length; j++) {
        rows[0][j] = j;
    }
    for (size_t i = 1; i <= a_length; i++) {
        size_t *now = rows[i % 3];
        const size_t *before = rows[(i - 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t change = before[j - 1] + (a[i - 1] != b[j - 1]);
            now[j] = least_of(change, least_of(before[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                now[j] = least_of(now[j], rows[(i - 2) % 3][j - 2] + 1);
            }
        }
    }
    return rows[a_length % 3][b_length];
}

void trk_nearest_consider(const char *word, const char *candidate, const char **best)
{
    size_t distance = distance_of(word, candidate);
    /* One slip in three letters: "sm" is sim, "x" is nothing. */
    if (distance * 3 > strlen(candidate) || (*best && distance_of(word, *best) <= distance)) {
        return;
    }
    *best = candidate;
}
