// What the dispatch core needs and Swift cannot say: a thread-local pointer, a call when a thread ends, the processor's
// hint that a loop is spinning, a yield, the time at little cost, and a mutex at a fixed address.
#ifndef CCHANNELS_H
#define CCHANNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The record of the calling thread, or null before its first post. Defined in CChannels.c: a `static` one here would be a
/// copy per importer.
#ifdef __cplusplus
extern __thread void *channels_thread_record;
#else
extern _Thread_local void *channels_thread_record;
#endif

static inline void *channels_get_thread_record(void) { return channels_thread_record; }

/// Sets the record of the calling thread and has `at_exit` called with it when the thread ends.
void channels_set_thread_record(void *record, void (*at_exit)(void *));

/// The lowest address of the calling thread's stack; 0 where the system does not say.
uintptr_t channels_stack_end(void);

/// Where the calling thread is on its stack. Not the address of a variable: the address sanitizer keeps those elsewhere.
static inline uintptr_t channels_stack_position(void) { return (uintptr_t)__builtin_frame_address(0); }

/// How many nanoseconds have gone by since some time in the past. Costs less than a clock of the standard library.
uint64_t channels_nanoseconds(void);

/// Stops that time for the calling thread, or lets it go on: for a simulation, in which nothing may depend on how fast it is.
void channels_stop_time(bool stops);

/// Memory that is never freed, all zero. The system provides pages of it when they are first used.
void *channels_zeroed(size_t size);

/// Lets another thread run; sleeps for 50 microseconds where yielding has not helped.
void channels_yield(bool sleep);

/// A mutex of the C library; on Apple's systems the unfair lock. Not recursive.
struct channels_lock;
/// Where it spins, a thread that finds it taken looks again a few times before it sleeps; only the C library of GNU is
/// told so.
struct channels_lock *channels_lock_make(bool spins);
void channels_lock_free(struct channels_lock *lock);
void channels_lock(struct channels_lock *lock);
void channels_unlock(struct channels_lock *lock);

/// Makes the load of a weak reference that follows cheaper, and has no other effect. On x86-64 the runtime (Swift 6.3)
/// swaps 16 bytes of a side table, of which it has set 12: the others are what is left in a register. In memory they are
/// 0. Where they are something else in the register, it begins again: 18 instructions more, one of them locked.
static inline void channels_will_load_weakly(void) {
#if defined(__x86_64__)
    __asm__ __volatile__("xorl %%r8d, %%r8d" ::: "r8", "cc");
#endif
}

/// Whether a weak reference to an object can be made. An object of Objective-C that is being deallocated allows none, and the
/// attempt aborts; to one of Swift it is null.
#if defined(__APPLE__)
bool channels_allows_weak_reference(const void *object);
#else
static inline bool channels_allows_weak_reference(const void *object) {
    (void)object;
    return true;
}
#endif

static inline void channels_spin_hint(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
    __asm__ __volatile__("yield");
#endif
}

#ifdef __cplusplus
}
#endif

#endif
