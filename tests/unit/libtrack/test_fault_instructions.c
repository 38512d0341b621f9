/*
 * Goal: whatever instruction touches guest memory, and whoever has the bytes, the result is that of
 * plain memory, and pages end where the kinds of access lead: stores make them CPU, loads bring
 * home, the rest stays.
 * Method: each instruction runs on two pages in all nine pairs of states over every backend of this
 * machine, with real faults, and on plain memory beside it; bytes, results and states are compared.
 * What the processor lacks is skipped by name.
 *
 * Rules: [M-52] [M-53] [M-57] [M-58].
 */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "live_memory.h"
#include "track/hle.h"

#if defined(__x86_64__)

/* ---- instructions: each gets the edge between the two pages ---- */

static uint64_t store_byte(unsigned char *edge)
{
    __asm__ volatile("movb $0x5a, -1(%0)" : : "r"(edge) : "memory");
    return 0;
}

static uint64_t store_over_the_edge(unsigned char *edge)
{
    __asm__ volatile("movq %1, -3(%0)" : : "r"(edge), "r"(UINT64_C(0x1122334455667788)) : "memory");
    return 0;
}

static uint64_t load_over_the_edge(unsigned char *edge)
{
    uint64_t value;
    __asm__ volatile("movq -5(%1), %0" : "=r"(value) : "r"(edge) : "memory");
    return value;
}

static uint64_t vector_store(unsigned char *edge)
{
    __asm__ volatile("pcmpeqd %%xmm0, %%xmm0\n movdqu %%xmm0, -7(%0)"
                     :
                     : "r"(edge)
                     : "memory", "xmm0");
    return 0;
}

static uint64_t vector_load(unsigned char *edge)
{
    uint64_t value;
    __asm__ volatile("movdqu -9(%1), %%xmm0\n movq %%xmm0, %0"
                     : "=r"(value)
                     : "r"(edge)
                     : "memory", "xmm0");
    return value;
}

static uint64_t avx_store(unsigned char *edge)
{
    __asm__ volatile("vpcmpeqd %%ymm0, %%ymm0, %%ymm0\n vmovdqu %%ymm0, -11(%0)\n vzeroupper"
                     :
                     : "r"(edge)
                     : "memory", "xmm0");
    return 0;
}

/* The lanes behind the edge are masked off: that page is not touched. */
static uint64_t avx_masked_store(unsigned char *edge)
{
    static const uint32_t mask[8] = {~0u, ~0u, ~0u, ~0u, 0, 0, 0, 0};
    __asm__ volatile("vmovdqu %1, %%ymm1\n vpcmpeqd %%ymm0, %%ymm0, %%ymm0\n"
                     "vmaskmovps %%ymm0, %%ymm1, -16(%0)\n vzeroupper"
                     :
                     : "r"(edge), "m"(mask)
                     : "memory", "xmm0", "xmm1");
    return 0;
}

static uint64_t avx512_store(unsigned char *edge)
{
    __asm__ volatile("vpternlogd $255, %%zmm0, %%zmm0, %%zmm0\n vmovdqu32 %%zmm0, -33(%0)\n"
                     "vzeroupper"
                     :
                     : "r"(edge)
                     : "memory", "xmm0");
    return 0;
}

static uint64_t avx512_scatter(unsigned char *edge)
{
    static const int32_t places[16] = {-4096, -2048, -64, -4, 0,    4,    64,  2048,
                                       4092,  -4092, 128, 8,  -128, -256, 256, 512};
    __asm__ volatile("vmovdqu32 %1, %%zmm1\n vpternlogd $255, %%zmm0, %%zmm0, %%zmm0\n"
                     "kxnorw %%k1, %%k1, %%k1\n vpscatterdd %%zmm0, (%0,%%zmm1,1)%{%%k1%}\n"
                     "vzeroupper"
                     :
                     : "r"(edge), "m"(places)
                     : "memory", "xmm0", "xmm1");
    return 0;
}

static uint64_t string_store(unsigned char *edge)
{
    unsigned char *to = edge - 1000;
    uint64_t count = 2000;
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(count) : "a"(0x77) : "memory");
    return count;
}

/* From the first page to the second. */
static uint64_t string_move(unsigned char *edge)
{
    unsigned char *to = edge + 8;
    const unsigned char *from = edge - 512;
    uint64_t count = 500;
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
    return count;
}

static uint64_t string_compare(unsigned char *edge)
{
    const unsigned char *one = edge - 256, *other = edge - 256;
    uint64_t count = 512;
    __asm__ volatile("repe cmpsb" : "+D"(one), "+S"(other), "+c"(count) : : "memory", "cc");
    return count;
}

static uint64_t atomic_add(unsigned char *edge)
{
    uint64_t value = 3;
    __asm__ volatile("lock xaddq %0, -8(%1)" : "+r"(value) : "r"(edge) : "memory", "cc");
    return value;
}

static uint64_t atomic_exchange(unsigned char *edge)
{
    uint64_t value = 9;
    __asm__ volatile("xchgq %0, 16(%1)" : "+r"(value) : "r"(edge) : "memory");
    return value;
}

/* A compare and swap that does not swap still writes, for the processor. */
static uint64_t atomic_compare(unsigned char *edge)
{
    uint64_t expected = 1, zero;
    __asm__ volatile("lock cmpxchgq %3, -16(%2)\n setz %b1\n movzbl %b1, %k1"
                     : "+a"(expected), "=&r"(zero)
                     : "r"(edge), "r"(UINT64_C(5))
                     : "memory", "cc");
    return expected ^ zero;
}

static uint64_t atomic_pair(unsigned char *edge)
{
    uint64_t low = ((const volatile uint64_t *)(const void *)(edge - 16))[0], high = 0;
    __asm__ volatile("lock cmpxchg16b -16(%2)"
                     : "+a"(low), "+d"(high)
                     : "r"(edge), "b"(UINT64_C(7)), "c"(UINT64_C(8))
                     : "memory", "cc");
    return low ^ high;
}

static uint64_t bit_set(unsigned char *edge)
{
    uint64_t carry = 0;
    __asm__ volatile("lock btsq %2, (%1)\n adc $0, %0"
                     : "+r"(carry)
                     : "r"(edge), "r"(INT64_C(-70))
                     : "memory", "cc");
    return carry;
}

static uint64_t past_the_caches(unsigned char *edge)
{
    __asm__ volatile("movntiq %1, -8(%0)\n sfence" : : "r"(edge), "r"(UINT64_C(0x42)) : "memory");
    return 0;
}

static uint64_t state_store(unsigned char *edge)
{
    /* Its bytes are the processor's: what counts is that the store comes through. */
    __asm__ volatile("fxsave -256(%0)" : : "r"(edge) : "memory");
    memset(edge - 256, 0x31, 512);
    return 0;
}

static uint64_t prefetch(unsigned char *edge)
{
    __asm__ volatile("prefetcht0 -64(%0)\n prefetchw (%0)" : : "r"(edge));
    return 0;
}

static uint64_t cache_flush(unsigned char *edge)
{
    __asm__ volatile("clflush -64(%0)" : : "r"(edge) : "memory");
    return 0;
}

/* The stack itself lies over the edge: pushes, a call, its return. */
static uint64_t stack(unsigned char *edge)
{
    uint64_t sum = 0, kept = 0;
    __asm__ volatile("mov %%rsp, %1\n"
                     "lea 24(%2), %%rsp\n"
                     "mov $8, %%ecx\n"
                     "1: push %%rcx\n"
                     "dec %%ecx\n"
                     "jnz 1b\n"
                     "mov $8, %%ecx\n"
                     "2: pop %%rdx\n"
                     "add %%rdx, %0\n"
                     "dec %%ecx\n"
                     "jnz 2b\n"
                     "mov %1, %%rsp\n"
                     : "+&r"(sum), "+&r"(kept)
                     : "r"(edge)
                     : "rcx", "rdx", "memory", "cc");
    return sum;
}

enum { NOTHING = 0, LOADS = 1, STORES = 2 };

struct instruction {
    const char *name;
    uint64_t (*run)(unsigned char *edge);
    const char *needs; /* a processor's feature */
    int first, second; /* what it does on each page */
};

static const struct instruction instructions[] = {
    {"a byte stored", store_byte, NULL, STORES, NOTHING},
    {"a store over the edge", store_over_the_edge, NULL, STORES, STORES},
    {"a load over the edge", load_over_the_edge, NULL, LOADS, LOADS},
    {"a vector stored", vector_store, NULL, STORES, STORES},
    {"a vector loaded", vector_load, NULL, LOADS, LOADS},
    {"a vector of 32 bytes", avx_store, "avx2", STORES, STORES},
    {"a masked vector", avx_masked_store, "avx2", STORES, NOTHING},
    {"a vector of 64 bytes", avx512_store, "avx512f", STORES, STORES},
    {"a scatter", avx512_scatter, "avx512f", STORES, STORES},
    {"rep stosb", string_store, NULL, STORES, STORES},
    {"rep movsb", string_move, NULL, LOADS, STORES},
    {"repe cmpsb", string_compare, NULL, LOADS, LOADS},
    {"lock xadd", atomic_add, NULL, STORES, NOTHING},
    {"xchg", atomic_exchange, NULL, NOTHING, STORES},
    {"lock cmpxchg that fails", atomic_compare, NULL, STORES, NOTHING},
    {"lock cmpxchg16b", atomic_pair, NULL, STORES, NOTHING},
    {"lock bts at a distance", bit_set, NULL, STORES, NOTHING},
    {"movnti", past_the_caches, NULL, STORES, NOTHING},
    {"fxsave", state_store, NULL, STORES, STORES},
    {"prefetch", prefetch, NULL, NOTHING, NOTHING},
    {"clflush", cache_flush, NULL, LOADS, NOTHING},
    {"a stack", stack, NULL, STORES, STORES},
};

/* __builtin_cpu_supports takes literals only. */
static bool processor_has(const char *feature)
{
    if (feature == NULL)
        return true;
    return strcmp(feature, "avx2") == 0 ? __builtin_cpu_supports("avx2") != 0
                                        : __builtin_cpu_supports("avx512f") != 0;
}

static enum live_state expected_state(enum live_state before, int does)
{
    if (does == STORES)
        return LIVE_CPU;
    return does == LOADS && before == LIVE_GPU ? LIVE_CLEAN : before;
}

static void run_one(const struct instruction *c, const enum live_state *states, const char *backend)
{
    static unsigned char plain[LIVE_BYTES] __attribute__((aligned(4096)));
    char name[128];
    snprintf(name, sizeof name, "%s, %s and %s, %s", c->name, live_state_names[states[0]],
             live_state_names[states[1]], backend);
    for (size_t i = 0; i < sizeof plain; i++)
        plain[i] = (unsigned char)(i * 7 + i / LIVE_PAGE * 13 + 1);
    live_memory_set(states, plain);
    uint64_t got = c->run(live_memory.guest + LIVE_PAGE);
    uint64_t wanted = c->run(plain + LIVE_PAGE);
    cr_expect_eq(got, wanted, "%s: result 0x%lx, not 0x%lx", name, got, wanted);
    cr_expect_eq(live_memory_state(0), expected_state(states[0], c->first), "%s: first page is %s",
                 name, live_state_names[live_memory_state(0)]);
    cr_expect_eq(live_memory_state(1), expected_state(states[1], c->second),
                 "%s: second page is %s", name, live_state_names[live_memory_state(1)]);
    live_memory_home();
    cr_expect_eq(memcmp(live_memory.backing, plain, LIVE_BYTES), 0, "%s: bytes", name);
    cr_expect_eq(live_memory.failures, 0, "%s: failures", name);
}

Test(fault_instructions, results_are_those_of_plain_memory)
{
    FOR_BACKENDS(choice)
    {
        if (!live_memory_open(choice, TRK_RIGHTS_RW))
            continue;
        for (size_t i = 0; i < sizeof instructions / sizeof instructions[0]; i++) {
            const struct instruction *c = &instructions[i];
            if (!processor_has(c->needs)) {
                fprintf(stderr, "skipped: %s (no %s)\n", c->name, c->needs);
                continue;
            }
            for (int pair = 0; pair < 9; pair++) {
                enum live_state states[] = {(enum live_state)(pair / 3),
                                            (enum live_state)(pair % 3)};
                run_one(c, states, backend_choice_name(choice));
            }
        }
        live_memory_close();
    }
}

/* A store under the alignment check; the flags behind it. */
static uint64_t store_checked(unsigned char *to)
{
    uint64_t flags;
    __asm__ volatile("lea -128(%%rsp), %%rsp\n" /* the red zone */
                     "pushfq\n"
                     "orq %[check], (%%rsp)\n"
                     "popfq\n"
                     "movb $42, (%[to])\n"
                     "pushfq\n"
                     "movq (%%rsp), %[flags]\n"
                     "andq %[no_check], (%%rsp)\n"
                     "popfq\n"
                     "lea 128(%%rsp), %%rsp\n"
                     : [flags] "=&r"(flags)
                     : [to] "r"(to), [check] "i"(1 << 18), [no_check] "i"(~(1 << 18))
                     : "memory", "cc");
    return flags;
}

/* The guest's alignment check is its own: the handler and the owner run without it. */
Test(fault_instructions, alignment_check)
{
    static const enum live_state gpu[] = {LIVE_GPU, LIVE_GPU};
    static const unsigned char bytes[LIVE_BYTES];
    FOR_BACKENDS(choice)
    {
        if (!live_memory_open(choice, TRK_RIGHTS_RW))
            continue;
        live_memory_set(gpu, bytes);
        uint64_t flags = store_checked(live_memory.guest + LIVE_PAGE);
        cr_expect(flags & 1 << 18, "%s: the flag is gone", backend_choice_name(choice));
        cr_expect_eq(live_memory_state(1), LIVE_CPU, "%s", backend_choice_name(choice));
        live_memory_close();
    }
}

/* Code on a page of the GPU's is brought home before it runs. */
Test(fault_instructions, execute)
{
    static const unsigned char code[] = {0xb8, 0x2a, 0, 0, 0, 0xc3}; /* mov eax, 42; ret */
    static const enum live_state gpu[] = {LIVE_GPU, LIVE_GPU};
    unsigned char bytes[LIVE_BYTES] = {0};
    memcpy(bytes, code, sizeof code);
    FOR_BACKENDS(choice)
    {
        if (!live_memory_open(choice, TRK_RIGHTS_RW | TRK_RIGHT_EXEC))
            continue;
        live_memory_set(gpu, bytes);
        int (*function)(void);
        memcpy(&function, &live_memory.guest, sizeof function);
        cr_expect_eq(function(), 42, "%s", backend_choice_name(choice));
        cr_expect_eq(live_memory_state(0), LIVE_CLEAN);
        cr_expect_eq(live_memory_state(1), LIVE_GPU);
        live_memory_home();
        live_memory_close();
    }
}

/* A page that the guest may only write can be read: by the processor always, so under watches too.
 */
Test(fault_instructions, write_only)
{
    unsigned char bytes[LIVE_BYTES];
    memset(bytes, 7, sizeof bytes);
    FOR_BACKENDS(choice)
    {
        if (!live_memory_open(choice, TRK_RIGHT_WRITE))
            continue;
        for (int pair = 0; pair < 9; pair++) {
            enum live_state states[] = {(enum live_state)(pair / 3), (enum live_state)(pair % 3)};
            live_memory_set(states, bytes);
            cr_expect_eq(load_over_the_edge(live_memory.guest + LIVE_PAGE),
                         UINT64_C(0x0707070707070707));
            store_over_the_edge(live_memory.guest + LIVE_PAGE);
            cr_expect_eq(live_memory_state(0), LIVE_CPU);
        }
        live_memory_home();
        live_memory_close();
    }
}

/* The kernel gets no signal: it says EFAULT and changes nothing, unless it is prepared for. */
static void read_it(void *context, uint64_t guest_addr, uint64_t size_bytes)
{
    const int *fd = context;
    unsigned char *to = live_memory.guest + (guest_addr - LIVE_GUEST);
    cr_expect_eq(pread(*fd, to, size_bytes, 0), (ssize_t)size_bytes);
}

Test(fault_instructions, kernel)
{
    static const enum live_state states[] = {LIVE_CLEAN, LIVE_GPU};
    unsigned char bytes[LIVE_BYTES] = {0};
    int fd = memfd_create("file", MFD_CLOEXEC);
    cr_assert_eq(pwrite(fd, "0123456789", 10, 0), 10);
    FOR_BACKENDS(choice)
    {
        if (!live_memory_open(choice, TRK_RIGHTS_RW))
            continue;
        live_memory_set(states, bytes);
        for (uint32_t page = 0; page < LIVE_PAGES; page++) {
            cr_expect_eq(pread(fd, live_memory.guest + page * LIVE_PAGE, 10, 0), -1, "%s, page %u",
                         backend_choice_name(choice), page);
            cr_expect_eq(live_memory_state(page), states[page]);
        }
        cr_expect_eq(pwrite(fd, live_memory.guest + LIVE_PAGE, 10, 100), -1,
                     "from a page of the GPU's");
        cr_expect_eq(pwrite(fd, live_memory.guest, 10, 100), 10, "from a clean page");
        for (uint32_t page = 0; page < LIVE_PAGES; page++) {
            bool written = false;
            struct trk_hle_write write = {.size = sizeof write,
                                          .guest_addr = LIVE_GUEST + page * LIVE_PAGE,
                                          .size_bytes = 10,
                                          .write = read_it,
                                          .context = &fd};
            cr_expect_eq(trk_tracker_hle_write(live_memory.tracker, &write, &written), TRK_OK);
            cr_expect(written);
            cr_expect_eq(live_memory_state(page), LIVE_CPU);
            cr_expect_eq(memcmp(live_memory.backing + page * LIVE_PAGE, "0123456789", 10), 0);
        }
        live_memory_home();
        live_memory_close();
    }
    close(fd);
}

#endif
