import Channels
import ChannelsFoundation
import Foundation
import Synchronization

extension Notification.Name {
    static let sold = Notification.Name("sold")
    static let told = Notification.Name("told")
}

/// An object that owns listeners.
final class Owner: Sendable {}

/// A counter that any thread may change.
final class Tally: Sendable {
    private let storage = Atomic<Int>(0)

    var value: Int { storage.load(ordering: .sequentiallyConsistent) }

    @discardableResult
    func add(_ amount: Int = 1) -> Int { storage.wrappingAdd(amount, ordering: .sequentiallyConsistent).newValue }

    /// Gives way to other tasks until the counter has reached a value.
    func wait(until value: Int) async { while self.value < value { await Task.yield() } }
}

/// Gives way to other tasks until something is so. Channels of other tests look at those of this one, and hold
/// what they look at for a moment.
func wait(_ isSo: () -> Bool) async { while !isSo() { await Task.yield() } }

extension NotificationCenter {
    /// The number in each notification, and how many notifications have been looked at: none while the center
    /// has no observer.
    func numbers(_ seen: Tally = Tally(), for name: Notification.Name = .sold) -> NotificationChannel<Int> {
        channel(for: name) { notification in
            seen.add()
            return notification.userInfo?["number"] as? Int
        }
    }

    func post(_ number: Int, as name: Notification.Name = .sold) {
        post(name: name, object: nil, userInfo: ["number": number])
    }
}

/// Runs a body on several threads of their own, which begin together, and suspends until all have ended.
func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) async {
    let ready = Tally()
    let ended = Tally()
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
        for index in 0..<count {
            Thread {
                ready.add()
                while ready.value < count { sched_yield() }
                body(index)
                if ended.add() == count { continuation.resume() }
            }
            .start()
        }
    }
}
