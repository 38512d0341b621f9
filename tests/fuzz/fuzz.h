/* What a harness gives: libFuzzer calls it, or corpus_main.c does with stored inputs. */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes);

#endif
