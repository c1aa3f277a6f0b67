#pragma once
#include <stddef.h>

/// The bytes that the allocator has handed out and not got back, in all threads' arenas; 0 where it cannot tell.
size_t memory_allocated(void);

/// Allocates and loses some bytes.
void memory_keep(size_t size);
