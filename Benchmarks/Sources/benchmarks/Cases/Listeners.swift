import CCounting

/// What every listener does with a message: a call that is not inlined, and an addition.
///
/// Used by one thread at a time; the cases that use several threads have listeners of their own.
final class Counter: @unchecked Sendable {
    private(set) var value = 0

    @inline(never)
    func add(_ number: Int) { value &+= number }

    /// A function of its own for adapted listeners: the compiler would merge their closures with the others.
    @inline(never)
    func subtract(_ number: Int) { value &-= number }
}

/// As many counters as a case has listeners.
func counters(_ count: Int) -> [Counter] {
    (0..<count).map { _ in Counter() }
}

/// The message of the cases on other threads that says that no more will come in this round.
let lastMessage = -1
