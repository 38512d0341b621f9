/* Advice on a policy, for people. */
#include <inttypes.h>
#include <stdio.h>

#include "advice_print.h"
#include "terminal.h"

#define MEGABYTE 1e6

static double percent(uint64_t part, uint64_t whole)
{
    return whole > 0 ? 100.0 * (double)part / (double)whole : 0.0;
}

/* Bytes as a power of two is best read. */
static void print_size(uint64_t bytes)
{
    static const char units[] = " KMGTPE";
    unsigned unit = 0;
    while (bytes >= 1024 && bytes % 1024 == 0 && units[unit + 1] != 0) {
        bytes /= 1024;
        unit++;
    }
    printf("%6" PRIu64 "%c", bytes, units[unit]);
}

static void print_way(const char *name, const struct trk_advice_way *way)
{
    printf("%-8s %.1f MB in %" PRIu64 " ranges, %" PRIu64 " groups", name,
           (double)way->moved_bytes / MEGABYTE, way->ranges, way->groups);
    if (way->changed_bytes != TRK_NOT_KNOWN) {
        printf("; %.1f MB of it could differ (%.1f %%)", (double)way->changed_bytes / MEGABYTE,
               percent(way->changed_bytes, way->moved_bytes));
    } else {
        fputs("; how much of it could differ is not known without witnessed stores", stdout);
    }
    putchar('\n');
}

static void print_pages(const struct trk_page_hashes *pages)
{
    if (pages->hashed == 0) {
        puts("pages    no hashes in this trace (trk record --payload hash)");
        return;
    }
    printf("pages    %" PRIu64 " uploaded with a hash, %" PRIu64 " with nothing new (%.1f %%)\n",
           pages->hashed, pages->redundant, percent(pages->redundant, pages->hashed));
}

static void print_classes(const char *what, const uint64_t *counts, const uint64_t *bytes)
{
    uint64_t all = 0, seen = 0, bridged = 0;
    for (uint32_t i = 0; i < TRK_ADVICE_CLASSES; i++) {
        all += counts[i];
    }
    if (all == 0) {
        return;
    }
    printf("\n%s\n", what);
    for (uint32_t i = 0; i < TRK_ADVICE_CLASSES; i++) {
        seen += counts[i];
        bridged += bytes != NULL ? bytes[i] : 0;
        if (counts[i] == 0) {
            continue;
        }
        fputs("  from ", stdout);
        print_size(trk_advice_class_least(i));
        printf(" %10" PRIu64 "  up to here %5.1f %%", counts[i], percent(seen, all));
        if (bytes != NULL) {
            printf(", bridging them copies %.1f MB more", (double)bridged / MEGABYTE);
        }
        putchar('\n');
    }
}

static void print_cost(const struct trk_gpu_cost *cost)
{
    printf("\ncost     a region %.0f ns, a byte %.4f ns (%.1f GB/s); submit and wait %.1f us; a "
           "gap of "
           "%" PRIu64 " bytes costs what a region does\n",
           cost->region_ns, cost->byte_ns, cost->byte_ns > 0.0 ? 1.0 / cost->byte_ns : 0.0,
           cost->submit_ns / 1e3, cost->gap_bytes);
}

/* In ms; below 0: not known. */
static void print_time(double ns)
{
    if (ns < 0.0) {
        printf("%13s ", "");
    } else {
        printf("%13.3f ", ns / 1e6);
    }
}

static void print_policies(const struct trk_advise_result *result)
{
    printf("\n%-34s %13s %13s %9s %13s %10s %10s\n", "policy", "predicted ms", "device ms", "error",
           "host ms", "regions", "moved MB");
    for (uint32_t i = 0; i < result->runs->count; i++) {
        const struct trk_policy_run *run = &result->runs->runs[i];
        const double predicted = result->predicted_ns[i], device = result->device[i].median;
        printf("%-34s ", run->text);
        print_time(predicted);
        print_time(device);
        if (predicted >= 0.0 && device > 0.0) {
            printf("%+8.1f%% ", 100.0 * (predicted / device - 1.0));
        } else {
            printf("%9s ", "");
        }
        print_time(result->host[i].median);
        printf("%10" PRIu64 " %10.1f\n", run->last.regions,
               (double)run->last.moved_bytes / MEGABYTE);
    }
    trk_bench_print_left_out(result->runs);
}

/* Where a policy's time goes, by the model. */
static void print_reason(const struct trk_advise_result *result, uint32_t policy)
{
    const struct trk_policy_run *run = &result->runs->runs[policy];
    const struct trk_gpu_cost *cost = &result->costs[policy];
    printf("         %s: %" PRIu64 " regions, %.3f ms by the model, and %.1f MB, %.3f ms\n",
           run->text, run->last.regions, (double)run->last.regions * cost->region_ns / 1e6,
           (double)run->last.moved_bytes / MEGABYTE,
           (double)run->last.moved_bytes * cost->byte_ns / 1e6);
}

static void print_choice(const struct trk_advise_result *result)
{
    const struct trk_policy_run *best = &result->runs->runs[result->best];
    fputs("\nadvice   ", stdout);
    trk_terminal_word(TRK_TONE_GOOD, best->text);
    printf(": the least time of %" PRIu32 " policies by the host's clock, over %" PRIu32
           " rounds\n",
           result->runs->count, result->bench.rounds);
    if (result->bench.rounds < result->rounds_wanted) {
        printf("         %" PRIu32 " rounds were asked for, but ", result->rounds_wanted);
        if (result->runs->cut_short) {
            puts("it was interrupted");
        } else {
            printf("%" PRIu64 " seconds were over\n", result->runs->seconds);
        }
    }
    if (!result->compared) {
        printf("         too few rounds to tell the policies apart: it takes %u\n",
               TRK_STATISTICS_ROUNDS_LEAST);
    } else if (result->best != 0) {
        char said[120];
        trk_bench_say_difference(&result->against[0], said, sizeof said);
        printf("         against %s: %s\n", result->runs->runs[0].text, said);
    }
    for (uint32_t i = 0; result->compared && i < result->runs->count; i++) {
        if (i != result->best && !result->against[i].shown) {
            char detectable[40];
            trk_bench_say_detectable(&result->against[i], detectable, sizeof detectable);
            printf("         not to be told from %s: smallest detectable difference %s\n",
                   result->runs->runs[i].text, detectable);
        }
    }
    print_reason(result, 0);
    if (result->best != 0 && result->predicted_ns[result->best] >= 0.0 &&
        best->policy.path == TRK_PATH_COPY) {
        print_reason(result, result->best);
    }
}

void trk_advise_print_text(const struct trk_advise_result *result)
{
    if (result->runs->gpu != NULL) {
        trk_bench_print_head(result->runs, result->device_number);
    }
    print_way("up", &result->advice.up);
    print_way("down", &result->advice.down);
    print_pages(&result->pages);
    print_classes("sizes of ranges, up, in bytes", result->advice.up.sizes, NULL);
    print_classes("gaps between neighbours of a group, up, in bytes", result->advice.up.gaps,
                  result->advice.up.gap_bytes);
    if (result->runs->gpu != NULL && result->runs->count > 0) {
        print_cost(&result->costs[0]);
        print_policies(result);
        print_choice(result);
    }
}
