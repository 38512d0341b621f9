/*
 * Coroutines: a switch of the stack pointer and of what the calling convention keeps.
 *
 * Sanitizers follow stacks, so both are told of every switch: AddressSanitizer the bounds of the
 * stack that is entered, ThreadSanitizer which of its fibers runs.
 */
#define _GNU_SOURCE
#include "coroutine.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#define COROUTINE_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define COROUTINE_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define COROUTINE_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define COROUTINE_TSAN 1
#endif
#endif

#ifdef COROUTINE_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef COROUTINE_TSAN
#include <sanitizer/tsan_interface.h>
#endif

/* The core nests callbacks a few deep, each frame below 1 KiB; sanitizers make frames larger. */
#define STACK_BYTES (UINT64_C(512) << 10)
#define CLEAN_BYTES 8192
#define GUARD_BYTES UINT64_C(16384) /* at least a page on every host */

#if defined(COROUTINE_ASAN) || defined(COROUTINE_TSAN)
#define NOT_WATCHED __attribute__((no_sanitize("address", "thread")))
#endif

struct coroutine {
    void *stack_pointer; /* where it stands, while it does not run */
    void *resumer;       /* where its resumer stands, while it runs */
    coroutine_body *body;
    void *context;
    char *mapping;
    bool done;
#ifdef COROUTINE_ASAN
    void *fake_stack, *resumer_fake_stack;
    const void *resumer_bottom;
    size_t resumer_bytes;
#endif
#ifdef COROUTINE_TSAN
    void *fiber, *resumer_fiber;
#endif
};

/* Save the kept registers on this stack and its pointer in *save; go on where `load` was saved. */
void trk_context_switch(void **save, void *load);
/* The first return address of a new stack: calls coroutine_main with the coroutine. */
void trk_context_start(void);
void trk_context_main(struct coroutine *self);

#if defined(__x86_64__)
__asm__(".text\n"
        ".p2align 4\n"
        ".globl trk_context_switch\n"
        ".hidden trk_context_switch\n"
        ".type trk_context_switch, @function\n"
        "trk_context_switch:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    subq $8, %rsp\n"
        "    stmxcsr (%rsp)\n"
        "    fnstcw 4(%rsp)\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    ldmxcsr (%rsp)\n"
        "    fldcw 4(%rsp)\n"
        "    addq $8, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size trk_context_switch, . - trk_context_switch\n"
        ".p2align 4\n"
        ".globl trk_context_start\n"
        ".hidden trk_context_start\n"
        ".type trk_context_start, @function\n"
        "trk_context_start:\n"
        "    movq %r12, %rdi\n"
        "    xorl %ebp, %ebp\n"
        "    call trk_context_main\n"
        "    ud2\n"
        ".size trk_context_start, . - trk_context_start\n");

#define FRAME_WORDS 8 /* control words, r15, r14, r13, r12, rbx, rbp, return address */

static void frame_fill(uint64_t *frame, struct coroutine *self)
{
    uint32_t mxcsr;
    uint16_t control;
    __asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
    __asm__ volatile("fnstcw %0" : "=m"(control));
    frame[0] = (uint64_t)control << 32 | mxcsr;
    frame[4] = (uintptr_t)self;
    frame[7] = (uintptr_t)trk_context_start;
}
#elif defined(__aarch64__)
__asm__(".text\n"
        ".p2align 4\n"
        ".globl trk_context_switch\n"
        ".hidden trk_context_switch\n"
        ".type trk_context_switch, %function\n"
        "trk_context_switch:\n"
        "    sub sp, sp, #160\n"
        "    stp x19, x20, [sp, #0]\n"
        "    stp x21, x22, [sp, #16]\n"
        "    stp x23, x24, [sp, #32]\n"
        "    stp x25, x26, [sp, #48]\n"
        "    stp x27, x28, [sp, #64]\n"
        "    stp x29, x30, [sp, #80]\n"
        "    stp d8, d9, [sp, #96]\n"
        "    stp d10, d11, [sp, #112]\n"
        "    stp d12, d13, [sp, #128]\n"
        "    stp d14, d15, [sp, #144]\n"
        "    mov x9, sp\n"
        "    str x9, [x0]\n"
        "    mov sp, x1\n"
        "    ldp x19, x20, [sp, #0]\n"
        "    ldp x21, x22, [sp, #16]\n"
        "    ldp x23, x24, [sp, #32]\n"
        "    ldp x25, x26, [sp, #48]\n"
        "    ldp x27, x28, [sp, #64]\n"
        "    ldp x29, x30, [sp, #80]\n"
        "    ldp d8, d9, [sp, #96]\n"
        "    ldp d10, d11, [sp, #112]\n"
        "    ldp d12, d13, [sp, #128]\n"
        "    ldp d14, d15, [sp, #144]\n"
        "    add sp, sp, #160\n"
        "    ret\n"
        ".size trk_context_switch, . - trk_context_switch\n"
        ".p2align 4\n"
        ".globl trk_context_start\n"
        ".hidden trk_context_start\n"
        ".type trk_context_start, %function\n"
        "trk_context_start:\n"
        "    mov x0, x19\n"
        "    mov x29, #0\n"
        "    bl trk_context_main\n"
        "    brk #1\n"
        ".size trk_context_start, . - trk_context_start\n");

#define FRAME_WORDS 20

static void frame_fill(uint64_t *frame, struct coroutine *self)
{
    frame[0] = (uintptr_t)self;
    frame[11] = (uintptr_t)trk_context_start;
}
#else
#error "coroutines are written for x86-64 and aarch64"
#endif

/* Stacks that nobody has: making one is three calls of the kernel, and its pages. */
#define SPARE_MOST 64u
static char *spare[SPARE_MOST];
static unsigned spare_count;

static char *stack_take(void)
{
    if (spare_count > 0)
        return spare[--spare_count];
    char *mapping = mmap(NULL, GUARD_BYTES + STACK_BYTES, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED)
        return NULL;
    if (mprotect(mapping, GUARD_BYTES, PROT_NONE) == 0)
        return mapping;
    munmap(mapping, GUARD_BYTES + STACK_BYTES);
    return NULL;
}

static void stack_give(char *mapping)
{
    if (spare_count < SPARE_MOST)
        spare[spare_count++] = mapping;
    else
        munmap(mapping, GUARD_BYTES + STACK_BYTES);
}

static void stack_begin(struct coroutine *self)
{
    /* 16 bytes below the top, so that a call from trk_context_start finds an aligned stack. */
    uint64_t *top = (uint64_t *)(void *)(self->mapping + GUARD_BYTES + STACK_BYTES) - 2;
    uint64_t *frame = top - FRAME_WORDS;
    for (int i = 0; i < FRAME_WORDS + 2; i++)
        frame[i] = 0;
    frame_fill(frame, self);
    self->stack_pointer = frame;
    self->done = false;
}

enum trk_status coroutine_create(struct coroutine **out, coroutine_body *body, void *context)
{
    struct coroutine *self = calloc(1, sizeof *self);
    if (self == NULL)
        return TRK_E_MEMORY;
    self->mapping = stack_take();
    if (self->mapping == NULL) {
        free(self);
        return TRK_E_MEMORY;
    }
    self->body = body;
    self->context = context;
    stack_begin(self);
#ifdef COROUTINE_TSAN
    self->fiber = __tsan_create_fiber(0);
#endif
    *out = self;
    return TRK_OK;
}

void coroutine_destroy(struct coroutine *coroutine)
{
    if (coroutine == NULL)
        return;
#ifdef COROUTINE_ASAN
    /* The frames that were left standing have poisoned parts; the addresses will be used again. */
    __asan_unpoison_memory_region(coroutine->mapping + GUARD_BYTES, STACK_BYTES);
#endif
#ifdef COROUTINE_TSAN
    __tsan_destroy_fiber(coroutine->fiber);
#endif
    stack_give(coroutine->mapping);
    free(coroutine);
}

bool coroutine_can_go_back(void)
{
#if defined(COROUTINE_ASAN) || defined(COROUTINE_TSAN)
    return false;
#else
    return true;
#endif
}

void coroutine_restart(struct coroutine *self)
{
#ifdef COROUTINE_ASAN
    __asan_unpoison_memory_region(self->mapping + GUARD_BYTES, STACK_BYTES);
    self->fake_stack = NULL;
#endif
#ifdef COROUTINE_TSAN
    __tsan_destroy_fiber(self->fiber);
    self->fiber = __tsan_create_fiber(0);
#endif
    stack_begin(self);
}

static char *stack_top(const struct coroutine *self)
{
    return self->mapping + GUARD_BYTES + STACK_BYTES;
}

void coroutine_pieces(struct coroutine *self, coroutine_piece_fn *piece, void *context)
{
    char *first = self->stack_pointer;
    piece(context, &self->stack_pointer, sizeof self->stack_pointer);
    piece(context, &self->done, sizeof self->done);
    if (!self->done)
        piece(context, first, (size_t)(stack_top(self) - first));
}

#ifdef NOT_WATCHED
/* Byte by byte, since functions of libc are watched too. */
NOT_WATCHED void coroutine_copy(void *to, const void *from, size_t size_bytes)
{
    volatile char *out = to;
    const volatile char *in = from;
    for (size_t i = 0; i < size_bytes; i++)
        out[i] = in[i];
}

NOT_WATCHED static void clear(char *first, size_t size_bytes)
{
    for (size_t i = 0; i < size_bytes; i++)
        ((volatile char *)first)[i] = 0;
}
#else
void coroutine_copy(void *to, const void *from, size_t size_bytes)
{
    memcpy(to, from, size_bytes);
}

static void clear(char *first, size_t size_bytes)
{
    memset(first, 0, size_bytes);
}
#endif

void coroutine_clean(struct coroutine *self)
{
    char *end = self->stack_pointer, *bottom = self->mapping + GUARD_BYTES;
    char *first = end - bottom > CLEAN_BYTES ? end - CLEAN_BYTES : bottom;
    clear(first, (size_t)(end - first));
}

static void enter(struct coroutine *self)
{
#ifdef COROUTINE_TSAN
    self->resumer_fiber = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(self->fiber, 0);
#endif
#ifdef COROUTINE_ASAN
    __sanitizer_start_switch_fiber(&self->resumer_fake_stack, self->mapping + GUARD_BYTES,
                                   STACK_BYTES);
#endif
    trk_context_switch(&self->resumer, self->stack_pointer);
#ifdef COROUTINE_ASAN
    __sanitizer_finish_switch_fiber(self->resumer_fake_stack, NULL, NULL);
#endif
}

static void leave(struct coroutine *self)
{
#ifdef COROUTINE_TSAN
    __tsan_switch_to_fiber(self->resumer_fiber, 0);
#endif
#ifdef COROUTINE_ASAN
    __sanitizer_start_switch_fiber(self->done ? NULL : &self->fake_stack, self->resumer_bottom,
                                   self->resumer_bytes);
#endif
    trk_context_switch(&self->stack_pointer, self->resumer);
#ifdef COROUTINE_ASAN
    __sanitizer_finish_switch_fiber(self->fake_stack, &self->resumer_bottom, &self->resumer_bytes);
#endif
}

void coroutine_resume(struct coroutine *coroutine)
{
    enter(coroutine);
}

void coroutine_yield(struct coroutine *coroutine)
{
    leave(coroutine);
}

bool coroutine_done(const struct coroutine *coroutine)
{
    return coroutine->done;
}

void trk_context_main(struct coroutine *self)
{
#ifdef COROUTINE_ASAN
    __sanitizer_finish_switch_fiber(NULL, &self->resumer_bottom, &self->resumer_bytes);
#endif
    self->body(self->context);
    self->done = true;
    leave(self);
    __builtin_unreachable();
}
