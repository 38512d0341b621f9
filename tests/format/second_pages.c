#include "second_pages.h"

#include <string.h>

#include "second_order.h"

#define PAGE      4096
#define PAGES_MAX 4096

static struct {
    uint64_t hash;
    uint8_t bytes[PAGE];
} pages[PAGES_MAX];
static size_t page_count;

void second_pages_reset(void)
{
    page_count = 0;
}

/* F-38 */
static uint64_t hash_of(const uint8_t *page)
{
    uint64_t lane[4] = {1, 2, 3, 4}, sum = 0;
    for (unsigned i = 0; i < PAGE / 8; i++) {
        uint64_t x = (lane[i % 4] ^ second_little(page + 8 * i, 8)) * 0x9E3779B97F4A7C15u;
        lane[i % 4] = x ^ x >> 29;
    }
    for (unsigned i = 0; i < 4; i++) {
        sum = (sum ^ lane[i]) * 0x9E3779B97F4A7C15u;
        sum ^= sum >> 32;
    }
    return sum;
}

void second_pages_take(const uint8_t *frame, size_t frame_size, const uint8_t *raw, size_t raw_size)
{
    size_t count = raw_size / PAGE;
    second_must(count > 0 && count <= 256 && raw_size % PAGE == 0, "F-39: size");
    second_must(frame_size == 12 + 8 * count && second_little(frame, 4) == 0x184D2A57 &&
                    second_little(frame + 4, 4) == frame_size - 8,
                "F-39: list");
    second_must(second_little(frame + frame_size - 4, 4) == second_crc32c(frame, frame_size - 4),
                "F-39: checksum");
    for (size_t i = 0; i < count; i++) {
        uint64_t hash = second_little(frame + 8 + 8 * i, 8);
        second_must(hash == hash_of(raw + PAGE * i), "F-39: hash");
        second_must(second_pages_find(hash) == NULL, "F-39: each content once");
        second_must(page_count < PAGES_MAX, "this decoder's limit of pages");
        pages[page_count].hash = hash;
        memcpy(pages[page_count++].bytes, raw + PAGE * i, PAGE);
    }
}

const uint8_t *second_pages_find(uint64_t hash)
{
    for (size_t i = 0; i < page_count; i++) {
        if (pages[i].hash == hash) {
            return pages[i].bytes;
        }
    }
    return NULL;
}
