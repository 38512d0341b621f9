#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "live.h"
#include "track/fault.h"

#define PAGE SCENARIO_PAGE_BYTES

/* ---- faults ---- */

/* The emulator's part of the decision: where nothing is mapped, nothing can be served. */
enum trk_fault_outcome live_fault(void *context, uint64_t host_addr, enum trk_access access)
{
    struct live *live = context;
    uint64_t guest_addr = host_addr - (uint64_t)live->backend.host_bias_bytes;
    live->found.faults++;
    if (live_entry_at(live, guest_addr, 1) == NULL)
        return TRK_FAULT_UNHANDLED;
    struct live_service outer = live->service; /* a callback may fault itself */
    live->service = (struct live_service){.under_way = true, .access = access};
    enum trk_fault_outcome outcome = trk_fault_tracker(live->tracker, host_addr, access);
    live->service = outer;
    return outcome;
}

static unsigned char *host_pointer(const struct live *live, uint64_t guest_addr)
{
    uint64_t host_addr = guest_addr + (uint64_t)live->backend.host_bias_bytes;
    unsigned char *pointer;
    memcpy(&pointer, &host_addr, sizeof pointer);
    return pointer;
}

void live_look(struct live *live, const unsigned char *bytes, uint64_t size_bytes)
{
    for (uint64_t i = 0; i < size_bytes; i++)
        found_value(&live->found, bytes[i]);
}

/* ---- the guest's accesses ---- */

static bool inside_a_page(const struct scenario_op *op)
{
    return op->guest_addr / PAGE == (op->guest_addr + op->size_bytes - 1) / PAGE;
}

bool live_store_possible(const struct scenario_op *op)
{
    uint64_t size = op->size_bytes;
    /* Inside a page any number of instructions will do: the first one faults for all. */
    return inside_a_page(op) || size == 2 || size == 4 || size == 8 || size == 16;
}

struct half {
    uint16_t value;
} __attribute__((packed));
struct word {
    uint32_t value;
} __attribute__((packed));
struct pair {
    uint64_t value;
} __attribute__((packed));
typedef uint8_t vector __attribute__((vector_size(16), aligned(1), may_alias));

static void store_bytes(unsigned char *to, uint64_t size, uint8_t value)
{
    uint64_t eight = value * UINT64_C(0x0101010101010101);
    switch (size) {
    case 2:
        ((volatile struct half *)(void *)to)->value = (uint16_t)eight;
        break;
    case 4:
        ((volatile struct word *)(void *)to)->value = (uint32_t)eight;
        break;
    case 8:
        ((volatile struct pair *)(void *)to)->value = eight;
        break;
    case 16:
        *(volatile vector *)(void *)to = (vector){0} + value;
        break;
    default:
        for (uint64_t i = 0; i < size; i++)
            ((volatile unsigned char *)to)[i] = value;
        break;
    }
}

void live_store(struct live *live, const struct scenario_op *op)
{
    unsigned char *to = host_pointer(live, op->guest_addr);
    bool within = live->accessing; /* the emulator's write, which faults like the guest's */
    if (!within && sigsetjmp(live->unhandled, 1) != 0) {
        live->accessing = false;
        live->found.outcome = OUTCOME_UNHANDLED;
        return;
    }
    live->accessing = true;
    store_bytes(to, op->size_bytes, (uint8_t)op->value);
    live->accessing = within;
}

void live_load(struct live *live, const struct scenario_op *op)
{
    const volatile unsigned char *from = host_pointer(live, op->guest_addr);
    unsigned char *copy = malloc(op->size_bytes);
    if (copy == NULL)
        abort();
    if (sigsetjmp(live->unhandled, 1) == 0) {
        live->accessing = true;
        for (uint64_t i = 0; i < op->size_bytes; i++)
            copy[i] = from[i];
        live->accessing = false;
        live_look(live, copy, op->size_bytes);
    } else {
        live->accessing = false;
        live->found.outcome = OUTCOME_UNHANDLED;
    }
    free(copy);
}

/* ---- the kernel's ---- */

static void kernel_outcome(struct live *live, const struct scenario_op *op, ssize_t got)
{
    struct found *found = &live->found;
    if (got < 0) {
        found->outcome = errno == EFAULT ? OUTCOME_EFAULT : OUTCOME_FAIL;
    } else if ((uint64_t)got < op->size_bytes) {
        found->outcome = OUTCOME_SHORT;
        found->number = (uint64_t)got;
    }
}

static int file_of(const unsigned char *bytes, size_t size)
{
    int fd = memfd_create("transfer", MFD_CLOEXEC);
    if (fd < 0 || (bytes != NULL && pwrite(fd, bytes, size, 0) != (ssize_t)size))
        abort();
    return fd;
}

/* read(2) of a file into guest memory. */
void live_sys_read(struct live *live, const struct scenario_op *op)
{
    unsigned char *bytes = malloc(op->size_bytes);
    if (bytes == NULL)
        abort();
    memset(bytes, (int)op->value, op->size_bytes);
    int fd = file_of(bytes, op->size_bytes);
    kernel_outcome(live, op, read(fd, host_pointer(live, op->guest_addr), op->size_bytes));
    close(fd);
    free(bytes);
}

/* write(2) of guest memory into a file; what arrived is looked at. */
void live_sys_write(struct live *live, const struct scenario_op *op)
{
    unsigned char *bytes = malloc(op->size_bytes);
    if (bytes == NULL)
        abort();
    int fd = file_of(NULL, 0);
    ssize_t got = write(fd, host_pointer(live, op->guest_addr), op->size_bytes);
    kernel_outcome(live, op, got);
    if (got > 0) {
        if (pread(fd, bytes, (size_t)got, 0) != got)
            abort();
        live_look(live, bytes, (uint64_t)got);
    }
    close(fd);
    free(bytes);
}
