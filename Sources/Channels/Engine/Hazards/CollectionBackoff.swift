/// When to look again for what was retired while possibly in use: after 1 ms, 2, 4 and so on. Transitions
/// only, made under the lock of the code that retires. A look is identified by how long it has waited, so of
/// two that overlap, the earlier one continues.
struct CollectionBackoff {
    /// How many milliseconds the next look waits; 0 if none is scheduled.
    private var next = 0

    /// Records that something was retired under a use whose end may go unnoticed. Returns whether the caller
    /// must look in a millisecond; if not, a look is already scheduled.
    mutating func begin() -> Bool {
        guard next != 1 else { return false }
        next = 1
        return true
    }

    /// Records a look after so many milliseconds. Returns how long the next look waits; nil if nothing is
    /// left, or another look comes sooner.
    mutating func end(after milliseconds: Int, isEmpty: Bool) -> Int? {
        guard next == milliseconds else { return nil }
        next = isEmpty ? 0 : milliseconds * 2
        return isEmpty ? nil : next
    }
}
