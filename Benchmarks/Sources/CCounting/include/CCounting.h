// Counts what the process allocates, and offers a call the optimiser cannot see through.
#pragma once
#include <stdint.h>

/// Starts or stops counting. Off at first: what is not counted costs one branch.
void counting_set(int on);

/// Allocations of all threads while counting was on: malloc, calloc, realloc and the aligned forms.
int64_t counting_allocations(void);

/// Bytes allocated less bytes freed while counting was on, as the allocator rounds them (`malloc_usable_size`).
int64_t counting_live_bytes(void);

/// Takes a value and does nothing with it, so that the work that made it is not removed.
void counting_consume(int64_t value);

/// Calls a function. Callgrind, told to, counts only what runs inside this call.
void counting_region(void (*body)(void *), void *context);
