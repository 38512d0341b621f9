#include "replayer/content.h"

#include <string.h>

#include "simulator/chance.h"

static uint64_t content_word(uint64_t seed, uint64_t index)
{
    uint64_t word = seed ^ index * UINT64_C(0x9e3779b97f4a7c15);
    return (word ^ word >> 29) * UINT64_C(0xd6e8feb86659fd93);
}

/* `part` bytes of the word that holds the byte at `offset`, beginning with it. */
static size_t content_part(unsigned char *to, uint64_t offset, uint64_t size_bytes, uint64_t word)
{
    unsigned char bytes[8];
    size_t skip = offset % 8, part = 8 - skip;
    part = part < size_bytes ? part : (size_t)size_bytes;
    memcpy(bytes, &word, sizeof bytes);
    memcpy(to, bytes + skip, part);
    return part;
}

void trk_content_store(void *bytes, uint64_t offset, uint64_t size_bytes, uint64_t content)
{
    unsigned char *to = bytes;
    const uint64_t seed = trk_chance_mix(content + 1);
    while (size_bytes > 0 && (offset % 8 != 0 || size_bytes < 8)) {
        size_t part = content_part(to, offset, size_bytes, content_word(seed, offset / 8));
        to += part;
        offset += part;
        size_bytes -= part;
    }
    for (; size_bytes >= 8; size_bytes -= 8, offset += 8, to += 8) {
        uint64_t word = content_word(seed, offset / 8);
        memcpy(to, &word, sizeof word);
    }
    if (size_bytes > 0) {
        (void)content_part(to, offset, size_bytes, content_word(seed, offset / 8));
    }
}

uint32_t trk_content_gpu_word(uint64_t content)
{
    return (uint32_t)(trk_chance_mix(content ^ UINT64_C(0x6770755f77726974)) >> 32);
}

void trk_content_gpu(void *bytes, uint64_t offset, uint64_t size_bytes, uint64_t content)
{
    unsigned char *to = bytes;
    unsigned char word_bytes[4];
    const uint32_t word = trk_content_gpu_word(content);
    memcpy(word_bytes, &word, sizeof word_bytes);
    for (uint64_t i = 0; i < size_bytes; i++) {
        to[i] = word_bytes[(offset + i) % 4];
    }
}
