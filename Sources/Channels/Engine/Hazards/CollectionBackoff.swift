/// When somebody looks again for what was retired while it may have been in use: after 1 ms, 2, 4 and so on.
///
/// Only transitions: they are made under the lock of whoever retires. A look is told from others by how long it has
/// waited. So of two that overlap one goes on, the one that comes sooner.
struct CollectionBackoff {
    /// How many milliseconds the look that comes next has waited then; 0 if none is to come.
    private var next = 0

    /// Something was retired under a use whose end may go unnoticed.
    ///
    /// - Returns: Whether the caller is to look in a millisecond. If not, somebody does anyway.
    mutating func begin() -> Bool {
        guard next != 1 else { return false }
        next = 1
        return true
    }

    /// A look has been made.
    ///
    /// - Parameters:
    ///   - milliseconds: How long it has waited.
    ///   - isEmpty: Whether nothing is left.
    /// - Returns: How long the next one waits; nil if nothing is left, or another one comes sooner.
    mutating func end(after milliseconds: Int, isEmpty: Bool) -> Int? {
        guard next == milliseconds else { return nil }
        next = isEmpty ? 0 : milliseconds * 2
        return isEmpty ? nil : next
    }
}
