/* What a program says of itself, for the trace's header. */
#include <stdio.h>
#include <string.h>

#include "capture_emit.h"
#include "recorder/capture.h"

/* Cut, and with nothing behind its end: the file shall hold no bytes of the stack. */
static void put_text(char *out, size_t size, const char *text)
{
    memset(out, 0, size);
    memcpy(out, text, strnlen(text, size - 1));
}

void trk_capture_about(const char *key, const char *text)
{
    struct trk_session_control *control = trk_capture_control();
    char bytes[TRK_SESSION_ABOUT_KEY_BYTES + TRK_SESSION_ABOUT_VALUE_BYTES];
    if (!control)
        return;
    uint32_t at = atomic_fetch_add_explicit(&control->about_count, 1, memory_order_relaxed);
    if (at >= TRK_SESSION_ABOUTS) {
        atomic_store_explicit(&control->about_count, TRK_SESSION_ABOUTS, memory_order_relaxed);
        return;
    }
    struct trk_session_about *about = &control->abouts[at];
    put_text(bytes, TRK_SESSION_ABOUT_KEY_BYTES, key);
    put_text(bytes + TRK_SESSION_ABOUT_KEY_BYTES, TRK_SESSION_ABOUT_VALUE_BYTES, text);
    for (size_t i = 0; i < sizeof bytes / 8; ++i) {
        uint64_t word;
        memcpy(&word, bytes + 8 * i, sizeof word);
        atomic_store_explicit(&about->words[i], word, memory_order_relaxed);
    }
    atomic_store_explicit(&about->known, 1, memory_order_release);
}

/* What a store or a load of a watched page raises. */
static const char *signals_of(enum trk_backend_kind kind)
{
    switch (kind) {
    case TRK_BACKEND_MPROTECT:
        return "SIGSEGV";
    case TRK_BACKEND_USERFAULTFD:
        return "SIGBUS of stores, SIGSEGV of loads";
    default:
        return "none";
    }
}

void trk_capture_about_backend(const struct trk_backend *backend)
{
    char text[TRK_SESSION_ABOUT_VALUE_BYTES];
    if (!trk_capture_active())
        return;
    bool real = backend->kind != TRK_BACKEND_SIMULATED;
    /* None of these is there without its probe having passed. */
    trk_capture_about("backend_self_test", real ? "passed: a fault arrived" : "none: no memory");
    trk_capture_about("backend_signals", signals_of(backend->kind));
    snprintf(text, sizeof text, "%lld", (long long)backend->host_bias_bytes);
    trk_capture_about("backend_host_bias", text);
    trk_capture_about("backend_separate_runs", backend->separate_runs ? "yes" : "no");
    trk_capture_about("backend_attaches", backend->attach != NULL ? "yes" : "no");
    if (backend->mappings != NULL) {
        snprintf(text, sizeof text, "%lld", (long long)backend->mappings->budget);
        trk_capture_about("backend_mappings", text);
    }
}
