internal import Channels

#if canImport(Darwin)
internal import Foundation
#else
internal import Dispatch
#endif

/// Callbacks of frameworks have no static isolation, but on the main queue they run as the main actor.
enum MainQueue {
    #if canImport(Darwin)
    /// Whether the current thread works for the main queue, which is the executor of the main actor.
    static var isCurrent: Bool { Thread.isMainThread }
    #else
    private static let key: DispatchSpecificKey<Bool> = {
        let key = DispatchSpecificKey<Bool>()
        DispatchQueue.main.setSpecific(key: key, value: true)
        return key
    }()

    /// Whether the current thread works for the main queue, which is the executor of the main actor. On this platform
    /// that may be any thread.
    static var isCurrent: Bool { DispatchQueue.getSpecific(key: key) == true }
    #endif
}

extension Channel {
    /// Posts a message. On the main queue, this posts as the main actor, so that listeners there are called directly.
    func postFromThisThread(_ message: Message, from sender: (any AnyObject & Sendable)? = nil) {
        guard MainQueue.isCurrent else {
            post(message, from: sender, isolation: nil)
            return
        }
        MainActor.assumeIsolated { _ = post(message, from: sender) }
    }
}

extension StateChannel {
    /// Sets the state. On the main queue, this sets it as the main actor, so that listeners there are called directly.
    func setFromThisThread(_ value: State, from sender: any AnyObject & Sendable) {
        guard MainQueue.isCurrent else { return set(value, from: sender, isolation: nil) }
        MainActor.assumeIsolated { set(value, from: sender) }
    }
}
