// For the adaptive mutex.
#define _GNU_SOURCE

#include "CChannels.h"

#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <sys/mman.h>
#include <stdlib.h>
#include <time.h>
#if defined(__linux__)
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif
#if defined(__APPLE__)
#include <objc/message.h>
#include <objc/runtime.h>
#include <os/lock.h>
#endif

_Thread_local void *channels_thread_record = NULL;

static pthread_key_t exit_key;
static pthread_once_t exit_key_once = PTHREAD_ONCE_INIT;
static void (*exit_function)(void *) = NULL;

// Clears the thread's record before giving it back, so that a destructor that runs later and posts registers again instead
// of using a record that another thread may have taken.
static void thread_did_end(void *record) {
    channels_thread_record = NULL;
    __atomic_load_n(&exit_function, __ATOMIC_ACQUIRE)(record);
}

// Without a key, or a value for it, the record would be another thread's after the end of this one.
static void make_exit_key(void) {
    if (pthread_key_create(&exit_key, thread_did_end) != 0) abort();
}

void channels_set_thread_record(void *record, void (*at_exit)(void *)) {
    __atomic_store_n(&exit_function, at_exit, __ATOMIC_RELEASE);  // always the same function
    pthread_once(&exit_key_once, make_exit_key);
    // Where the system frees thread-local variables before it calls `thread_did_end`, a destructor that posts in between
    // finds none, and registers again.
    void *earlier = pthread_getspecific(exit_key);
    if (earlier != NULL) at_exit(earlier);
    if (pthread_setspecific(exit_key, record) != 0) abort();
    channels_thread_record = record;
}

uintptr_t channels_stack_end(void) {
#if defined(__APPLE__)
    pthread_t self = pthread_self();
    return (uintptr_t)pthread_get_stackaddr_np(self) - pthread_get_stacksize_np(self);
#elif defined(__linux__)
    pthread_attr_t attributes;
    void *lowest = NULL;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 0;
    if (pthread_attr_getstack(&attributes, &lowest, &size) != 0) lowest = NULL;
    pthread_attr_destroy(&attributes);
#if !defined(__GLIBC__) && !defined(__BIONIC__)
    // musl says how much of the main thread's stack there is so far, and not to where it may grow.
    if (lowest != NULL && getpid() == (pid_t)syscall(SYS_gettid)) {
        struct rlimit limit;
        uintptr_t highest = (uintptr_t)lowest + size;
        if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= highest) return 0;
        return highest - (uintptr_t)limit.rlim_cur;
    }
#endif
    return (uintptr_t)lowest;
#else
    return 0;
#endif
}

static _Thread_local bool channels_time_is_stopped = false;

void channels_stop_time(bool stops) { channels_time_is_stopped = stops; }

uint64_t channels_nanoseconds(void) {
    if (channels_time_is_stopped) return 1;
#if defined(__APPLE__)
    // CLOCK_MONOTONIC may step back there.
    return clock_gettime_nsec_np(CLOCK_UPTIME_RAW);
#else
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
#endif
}

#if defined(__APPLE__)
// The runtime asks the same before it makes the reference, and aborts the process where the answer is no.
bool channels_allows_weak_reference(const void *object) {
    SEL question = sel_registerName("allowsWeakReference");
    id asked = (id)object;
    if (!class_respondsToSelector(object_getClass(asked), question)) return true;
    return ((BOOL (*)(id, SEL))objc_msgSend)(asked, question);
}
#endif

void *channels_zeroed(size_t size) {
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) abort();
    return memory;
}

void channels_yield(bool sleep) {
    if (sleep) {
        struct timespec duration = {0, 50 * 1000};
        nanosleep(&duration, NULL);
    } else {
        sched_yield();
    }
}

#if defined(__APPLE__)
// Lends its holder the priority of whoever waits.
struct channels_lock {
    os_unfair_lock lock;
};

struct channels_lock *channels_lock_make(bool spins) {
    (void)spins;
    struct channels_lock *lock = malloc(sizeof *lock);
    if (lock == NULL) abort();
    lock->lock = OS_UNFAIR_LOCK_INIT;
    return lock;
}

void channels_lock_free(struct channels_lock *lock) { free(lock); }
void channels_lock(struct channels_lock *lock) { os_unfair_lock_lock(&lock->lock); }
void channels_unlock(struct channels_lock *lock) { os_unfair_lock_unlock(&lock->lock); }
#else
struct channels_lock {
    pthread_mutex_t mutex;
};

struct channels_lock *channels_lock_make(bool spins) {
    struct channels_lock *lock = malloc(sizeof *lock);
    pthread_mutexattr_t attributes;
    if (lock == NULL || pthread_mutexattr_init(&attributes) != 0) abort();
#if defined(__GLIBC__)
    if (spins) pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ADAPTIVE_NP);
#else
    (void)spins;
#endif
    if (pthread_mutex_init(&lock->mutex, &attributes) != 0) abort();
    pthread_mutexattr_destroy(&attributes);
    return lock;
}

void channels_lock_free(struct channels_lock *lock) {
    pthread_mutex_destroy(&lock->mutex);
    free(lock);
}

// Both fail only for a mutex that is not one, or is not held.
void channels_lock(struct channels_lock *lock) {
    if (pthread_mutex_lock(&lock->mutex) != 0) abort();
}

void channels_unlock(struct channels_lock *lock) {
    if (pthread_mutex_unlock(&lock->mutex) != 0) abort();
}
#endif
