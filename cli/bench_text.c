/* A bench of policies, for people, and its raw passes as CSV. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_print.h"
#include "bench_rates.h"
#include "calibration_print.h"
#include "terminal.h"

#define MEGABYTE 1e6

static double milliseconds(double ns)
{
    return ns / 1e6;
}

void trk_bench_print_head(const struct trk_policy_runs *runs, uint32_t device_number)
{
    const struct trk_plan *plan = runs->plan;
    const struct trk_gpu_info *gpu = trk_gpu_info(runs->gpu);
    fputs("trace    ", stdout);
    trk_terminal_text(stdout, runs->input.path);
    printf(": %zu frames, up %.1f MB in %" PRIu64 " ranges, down %.1f MB in %" PRIu64 ", %" PRIu64
           " writes by the GPU\ndevice   %" PRIu32 ": ",
           plan->frame_count, (double)plan->upload_bytes / MEGABYTE, plan->uploads,
           (double)plan->download_bytes / MEGABYTE, plan->downloads, plan->gpu_writes,
           device_number);
    trk_terminal_text(stdout, gpu->device_name);
    fputs(", ", stdout);
    trk_terminal_text(stdout, gpu->driver);
    putchar('\n');
}

void trk_bench_print_left_out(const struct trk_policy_runs *runs)
{
    for (uint32_t i = 0; i < runs->left_out_count; i++) {
        printf("%-34s left out: %s\n", runs->left_out[i].text, runs->left_out[i].why);
    }
}

/* What ended the rounds, where it was not their number. */
static void print_end(const struct trk_bench_result *result)
{
    const struct trk_policy_runs *runs = result->runs;
    const bool timeout = result->bench.rounds < result->rounds_wanted && !result->detected;
    const double percent = 100.0 * runs->detect.share;
    if (runs->detect.share > 0.0 && result->detected) {
        printf("; as many as it takes to detect %.0f %%", percent);
    } else if (runs->detect.share > 0.0) {
        printf("; too few to detect %.0f %%", percent);
    }
    if (timeout) {
        printf("; %" PRIu32 " were %s, but ", result->rounds_wanted,
               runs->detect.share > 0.0 ? "allowed" : "asked for");
        if (result->interrupted) {
            fputs("the bench was interrupted", stdout);
        } else {
            printf("%" PRIu64 " seconds were over", runs->seconds);
        }
    }
}

static void print_clock(const struct trk_bench_result *result)
{
    const struct trk_policy_clocks *before = &result->runs->before, *after = &result->runs->after;
    printf("clocks   a tick of the device's is %.3f ns; the host's counts from the first copy into "
           "staging to the last wait",
           trk_gpu_info(result->runs->gpu)->tick_ns);
    if (before->gpu.core_mhz > 0) {
        printf("; GPU %" PRIu32 " MHz, then %" PRIu32, before->gpu.core_mhz, after->gpu.core_mhz);
    }
    if (before->processor_mhz > 0) {
        printf("; processor %" PRIu32 " MHz, then %" PRIu32, before->processor_mhz,
               after->processor_mhz);
    }
    fputs("\n         ", stdout);
    trk_calibration_print(trk_gpu_info(result->runs->gpu), &result->runs->calibration);
    printf("\nrounds   %" PRIu32 ", each policy %" PRIu32 " times in each, seed %" PRIu64,
           result->bench.rounds, 2 * result->bench.turns, result->seed);
    print_end(result);
    fputs("\n\n", stdout);
}

struct trk_bench_spread trk_bench_spread_of(const struct trk_bench *bench, uint32_t policy,
                                            enum trk_bench_clock clock)
{
    const size_t count = trk_bench_passes_of(bench);
    struct trk_bench_spread spread = {0};
    double *times = calloc(count, sizeof *times);
    if (times == NULL) {
        trk_terminal_say(NULL, "out of memory");
        exit(TRK_EXIT_ENVIRONMENT);
    }
    trk_bench_times_of(bench, policy, clock, times);
    spread.median = trk_statistics_quantile(times, count, 0.5);
    spread.low = trk_statistics_quantile(times, count, 0.05);
    spread.high = trk_statistics_quantile(times, count, 0.95);
    free(times);
    return spread;
}

static void print_policies(const struct trk_bench_result *result)
{
    const struct trk_plan *plan = result->runs->plan;
    const double useful = (double)(plan->upload_bytes + plan->download_bytes);
    printf("%-34s %12s %12s %10s %10s %10s %10s %8s\n", "policy", "device ms", "host ms",
           "device GB/s", "host GB/s", "moved MB", "regions", "submits");
    for (uint32_t i = 0; i < result->runs->count; i++) {
        const struct trk_policy_run *run = &result->runs->runs[i];
        char label[TRK_POLICY_TEXT_BYTES + 8];
        snprintf(label, sizeof label, "%s%s%s", run->name, run->name[0] ? "  " : "", run->text);
        const double host = trk_bench_spread_of(&result->bench, i, TRK_BENCH_HOST).median;
        printf("%-34s ", label);
        if (trk_bench_has(&result->bench, i, TRK_BENCH_DEVICE)) {
            const double on = trk_bench_spread_of(&result->bench, i, TRK_BENCH_DEVICE).median;
            printf("%12.3f %12.3f %11.3f ", milliseconds(on), milliseconds(host), useful / on);
        } else {
            printf("%12s %12.3f %11s ", "not known", milliseconds(host), "");
        }
        printf("%10.3f %10.1f %10" PRIu64 " %8" PRIu64 "\n", useful / host,
               (double)run->last.moved_bytes / MEGABYTE, run->last.regions, run->last.submits);
    }
    trk_bench_print_left_out(result->runs);
}

static void print_rate(const struct trk_bench_rates *rates, enum trk_bench_clock clock)
{
    if (rates->gbs[clock] > 0) {
        printf(" %8.3f %8.1f%% %8.2fx", rates->gbs[clock], 100.0 * rates->share[clock],
               rates->times[clock]);
    } else {
        printf(" %8s %9s %9s", "-", "-", "-");
    }
}

/* Rates against one region, and against per-range. */
static void print_rates(const struct trk_bench_result *result)
{
    const struct trk_policy_runs *runs = result->runs;
    struct trk_bench_gap gap;
    if (runs->one == NULL) {
        return;
    }
    printf("\n%-34s %s\n%-34s", "",
           "by the device's clock         by the host's, copies into staging", "rates");
    for (int clock = 0; clock < 2; clock++) {
        printf(" %8s %9s %9s", "GB/s", "of link", "per-range");
    }
    putchar('\n');
    for (uint32_t i = 0; i <= runs->count; i++) {
        const uint32_t policy = i == 0 ? runs->count : i - 1;
        const struct trk_bench_rates rates = trk_bench_rates_of(result, policy);
        printf("%-34s", i == 0 ? "one region" : runs->runs[policy].text);
        print_rate(&rates, TRK_BENCH_DEVICE);
        print_rate(&rates, TRK_BENCH_HOST);
        putchar('\n');
    }
    printf("One region is %.1f MB, the link's rate by %s; its bytes are in staging already.\n",
           (double)trk_one_region_bytes(runs->one) / MEGABYTE,
           trk_bench_has(&result->bench, runs->count, TRK_BENCH_DEVICE) ? "the device's clock"
                                                                        : "the host's clock");
    if (trk_bench_gap_find(result, &gap)) {
        printf("auto takes %.1f %% of the time of %s, the best gap chosen by hand.\n",
               100.0 * (1.0 + gap.slower), runs->runs[gap.policy].text);
    }
}

void trk_bench_say_difference(const struct trk_comparison *comparison, char *out, size_t size)
{
    const double percent = 100.0 * comparison->difference;
    if (!comparison->shown) {
        snprintf(out, size, "no difference shown (%+.2f %%, 95 %% interval %+.2f to %+.2f %%)",
                 percent, 100.0 * comparison->low, 100.0 * comparison->high);
    } else if (comparison->difference > -0.5 && comparison->difference < 1.0) {
        snprintf(out, size, "%.2f %% %s (95 %% interval %+.2f to %+.2f %%)",
                 percent < 0.0 ? -percent : percent, percent < 0.0 ? "faster" : "slower",
                 100.0 * comparison->low, 100.0 * comparison->high);
    } else if (comparison->difference < 0.0) { /* shares of A's time say little here */
        snprintf(out, size, "%.2f times as fast (95 %% interval %.2f to %.2f)",
                 1.0 / (1.0 + comparison->difference), 1.0 / (1.0 + comparison->high),
                 1.0 / (1.0 + comparison->low));
    } else {
        snprintf(out, size, "takes %.2f times as long (95 %% interval %.2f to %.2f)",
                 1.0 + comparison->difference, 1.0 + comparison->low, 1.0 + comparison->high);
    }
}

void trk_bench_say_detectable(const struct trk_comparison *comparison, char *out, size_t size)
{
    if (isfinite(comparison->detectable)) {
        snprintf(out, size, "%.2f %%", 100.0 * comparison->detectable);
    } else {
        snprintf(out, size, "not known");
    }
}

static void print_verdicts(const struct trk_bench_result *result)
{
    if (result->verdict_count == 0) {
        printf("\nToo few rounds to compare: it takes %u.\n", TRK_STATISTICS_ROUNDS_LEAST);
        return;
    }
    printf("\ncompared with %s\n", result->runs->runs[0].text);
    for (uint32_t i = 0; i < result->verdict_count; i++) {
        const struct trk_comparison *comparison = &result->verdicts[i].comparison;
        char said[120], detectable[40];
        trk_bench_say_difference(comparison, said, sizeof said);
        trk_bench_say_detectable(comparison, detectable, sizeof detectable);
        printf("%-34s ", result->runs->runs[result->verdicts[i].policy].text);
        trk_terminal_word(comparison->shown ? TRK_TONE_PLAIN : TRK_TONE_DOUBT, said);
        printf("\n%-34s slower in %" PRIu32 " rounds, faster in %" PRIu32
               ", sign test p %.4f; smallest detectable %s\n",
               result->verdicts[i].clock == TRK_BENCH_DEVICE ? "  by the device's time"
                                                             : "  by the host's time",
               comparison->slower, comparison->faster, comparison->sign_p, detectable);
    }
    if (result->verdict_count > 1) {
        printf("Of %" PRIu32 " comparisons one in twenty shows a difference by chance.\n",
               result->verdict_count);
    }
}

void trk_bench_print_text(const struct trk_bench_result *result)
{
    trk_bench_print_head(result->runs, result->device_number);
    print_clock(result);
    print_policies(result);
    print_rates(result);
    print_verdicts(result);
}

void trk_bench_print_csv(const struct trk_bench_result *result)
{
    puts("round,place,policy,expression,device_ns,host_ns");
    for (size_t i = 0; i < result->bench.pass_count; i++) {
        const struct trk_bench_pass *pass = &result->bench.passes[i];
        const bool one = pass->policy == result->runs->count;
        printf("%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",\"%s\",", pass->round, pass->place,
               pass->policy, one ? "one region" : result->runs->runs[pass->policy].text);
        if (pass->times.device_ns != TRK_NOT_KNOWN) {
            printf("%" PRIu64, pass->times.device_ns);
        }
        printf(",%" PRIu64 "\n", pass->times.host_ns);
    }
}
