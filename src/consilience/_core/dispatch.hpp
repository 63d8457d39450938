// One binary for old and new CPUs: CONSILIENCE_CLONES makes the compiler emit a function once
// per instruction set and pick the best when the library is loaded.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__GLIBC__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define CONSILIENCE_MANY_CPUS
#define CONSILIENCE_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define CONSILIENCE_CLONES
#endif

#if defined(__GNUC__)
#define CONSILIENCE_INLINE inline __attribute__((always_inline))
#else
#define CONSILIENCE_INLINE inline
#endif
