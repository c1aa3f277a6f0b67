// Must not compile for 32 bits, or nothing was checked.

let nanoseconds: Int = 3_000_000_000
