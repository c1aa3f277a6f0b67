#include "CMemory.h"

// Says whose C library it is.
#include <stdlib.h>

#if defined(__GLIBC__)
#include <malloc.h>

size_t memory_allocated(void) {
    // `mallinfo2` looks at every arena, not at the main one only.
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}
#else
size_t memory_allocated(void) { return 0; }
#endif

// Where a compiler sees the address it cannot leave the allocation out.
static void *volatile memory_kept;

void memory_keep(size_t size) { memory_kept = malloc(size); }
