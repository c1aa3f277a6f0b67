internal import Synchronization

/// The adaptors of one listener, composed: whether it hears a message, and as what.
///
/// They run on the poster's thread, before the listener is called or the message waits for it. So a message that is
/// skipped takes no place in a mailbox, and one that is not waits as what the listener hears.
@usableFromInline
final class Adaptor: Sendable {
    /// Is handed the message, the frame of its post, and a closure that delivers what it makes of the message. Returns
    /// what the closure returns, or 0 for a message that is skipped.
    @usableFromInline
    typealias Run = @Sendable (MessageAddress, FrameReference, _ deliver: (MessageAddress) -> Int) -> Int

    /// Cannot be copied, so that a post borrows the closure and neither retains nor releases it.
    private struct Body: ~Copyable {
        let run: Run
    }

    /// Of what the listener hears.
    let layout: MessageLayout
    private let body: Body

    /// - Parameter next: What runs on the messages that these closures let pass.
    init(_ run: @escaping Run, before next: Adaptor?, to layout: MessageLayout) {
        self.layout = next?.layout ?? layout
        guard let next else {
            body = Body(run: run)
            return
        }
        body = Body { message, frame, deliver in run(message, frame) { next.run($0, frame, deliver) } }
    }

    @inline(__always)
    func run(_ message: MessageAddress, _ frame: FrameReference, _ deliver: (MessageAddress) -> Int) -> Int {
        unsafe withUnsafePointer(to: body) { body in
            // Lent in place, for the call.
            unsafe borrowing(body) { $0.run(message, frame, deliver) }
        }
    }
}

/// How many more messages a listener hears that ends after a number of them.
@usableFromInline
final class MessagesLeft: Sendable {
    private let count: Atomic<Int>

    @usableFromInline
    init(_ count: Int) { self.count = Atomic(count) }

    /// Counts a message. Returns how many were left before; 0 or less for one that is too many.
    @usableFromInline
    func take() -> Int { count.wrappingSubtract(1, ordering: .relaxed).oldValue }
}
