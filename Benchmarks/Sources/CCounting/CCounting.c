// On Linux malloc and its kin are defined here, and the ones of glibc called; the runtime and every library then come through here.
// Elsewhere nothing is counted: the counters read 0, and the control case fails, so that no zero is taken for a measurement.
#include "CCounting.h"
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

static _Atomic int is_on;
static _Atomic int64_t allocations;
static _Atomic int64_t live_bytes;

void counting_set(int on) { atomic_store(&is_on, on); }
int64_t counting_allocations(void) { return atomic_load(&allocations); }
int64_t counting_live_bytes(void) { return atomic_load(&live_bytes); }

__attribute__((noinline)) void counting_consume(int64_t value) { __asm__ volatile("" ::"r"(value)); }

__attribute__((noinline)) void counting_region(void (*body)(void *), void *context) {
    body(context);
    // Keeps the call from becoming a jump, after which the region would have no end.
    __asm__ volatile("");
}

#if defined(__linux__) && defined(__GLIBC__)
#include <malloc.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

static inline int counts(void) { return __builtin_expect(atomic_load_explicit(&is_on, memory_order_relaxed), 0); }

static void *counted(void *block) {
    if (counts() && block) {
        atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&live_bytes, (int64_t)malloc_usable_size(block), memory_order_relaxed);
    }
    return block;
}

static void released(void *block) {
    if (counts() && block) atomic_fetch_sub_explicit(&live_bytes, (int64_t)malloc_usable_size(block), memory_order_relaxed);
}

void *malloc(size_t size) { return counted(__libc_malloc(size)); }
void *calloc(size_t count, size_t size) { return counted(__libc_calloc(count, size)); }
void *memalign(size_t alignment, size_t size) { return counted(__libc_memalign(alignment, size)); }
void *aligned_alloc(size_t alignment, size_t size) { return counted(__libc_memalign(alignment, size)); }

void *realloc(void *block, size_t size) {
    released(block);
    return counted(__libc_realloc(block, size));
}

int posix_memalign(void **place, size_t alignment, size_t size) {
    void *block = counted(__libc_memalign(alignment, size));
    if (!block) return ENOMEM;
    *place = block;
    return 0;
}

void free(void *block) {
    released(block);
    __libc_free(block);
}
#endif
