/* The second decoder's contents of pages: F-38 and F-39 of docs/format.md. */
#ifndef TESTS_SECOND_PAGES_H
#define TESTS_SECOND_PAGES_H

#include <stddef.h>
#include <stdint.h>

void second_pages_reset(void);
/* Take a BLOB: its list, frame and all, and its payload. Ends the program where F-39 is broken. */
void second_pages_take(const uint8_t *frame, size_t frame_size, const uint8_t *raw,
                       size_t raw_size);
/* A page of the file that was read last; NULL: it has none of that hash. */
const uint8_t *second_pages_find(uint64_t hash);

/* second_decoder.c */
uint64_t second_little(const uint8_t *at, unsigned bytes);
uint32_t second_crc32c(const uint8_t *bytes, size_t size);

#endif
