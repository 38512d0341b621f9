/* The GNU extensions that the public headers use, each behind one name. */
#ifndef TRACK_MACROS_H
#define TRACK_MACROS_H

#define TRK_MUST_USE          __attribute__((warn_unused_result))
#define TRK_LIKELY(x)         __builtin_expect(!!(x), 1)
#define TRK_UNLIKELY(x)       __builtin_expect(!!(x), 0)
#define TRK_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/* A call that is made seldom: callers keep it out of their way. */
#define TRK_SELDOM_CALLED __attribute__((cold))

/* A variable of the library that its inline functions read: never by way of a table of offsets. */
#define TRK_HIDDEN __attribute__((visibility("hidden")))

/* One look at a word that another thread may write meanwhile. */
#define TRK_LOAD_RELAXED(word)         __atomic_load_n(word, __ATOMIC_RELAXED)
#define TRK_STORE_RELAXED(word, value) __atomic_store_n(word, value, __ATOMIC_RELAXED)

#ifdef __cplusplus
#define TRK_EXTERN_C_BEGIN extern "C" {
#define TRK_EXTERN_C_END   }
#else
#define TRK_EXTERN_C_BEGIN
#define TRK_EXTERN_C_END
#endif

#endif
