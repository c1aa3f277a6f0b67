internal import Synchronization

/// The adaptors of one listener, composed: whether it receives a message, and as what.
///
/// They run on the poster's thread, before the listener is called or the message waits for it. So a message that is
/// skipped takes no place in a mailbox, and one that is not waits as what the listener receives.
@usableFromInline
final class Adaptor: Sendable {
    /// Whether a message passes.
    @usableFromInline
    typealias Condition = @Sendable (MessageAddress) -> Bool
    /// Is handed the message, the frame of its post, and a closure that delivers what it makes of the message. Returns
    /// what the closure returns, or 0 for a message that is skipped.
    @usableFromInline
    typealias Run = @Sendable (MessageAddress, FrameReference, _ deliver: (MessageAddress) -> Int) -> Int

    /// Cannot be copied, so that a post borrows the closures and neither retains nor releases them.
    private struct Body: ~Copyable {
        let condition: Condition
        let run: Run
    }

    /// Of what the listener receives.
    let layout: MessageLayout
    private let body: Body

    /// - Parameter next: What runs on the messages that these let pass.
    init(_ condition: Condition?, _ run: Run?, before next: Adaptor?, to layout: MessageLayout) {
        self.layout = next?.layout ?? layout
        let run: Run =
            switch (run, next) {
            case (let run?, let next?):
                { message, frame, deliver in run(message, frame) { next.run($0, frame, deliver) } }
            case (nil, let next?): { next.run($0, $1, $2) }
            case (let run?, nil): run
            case (nil, nil): { message, _, deliver in deliver(message) }
            }
        body = Body(condition: condition ?? { _ in true }, run: run)
    }

    /// Whether the filter that stands first, if there is one, lets the message pass: apart from the rest, because to
    /// skip a message is to cost next to nothing.
    @inline(__always)
    func includes(_ message: MessageAddress) -> Bool {
        // Lent in place, for the call; here and below.
        unsafe withUnsafePointer(to: body) { unsafe borrowing($0) { $0.condition(message) } }
    }

    /// Runs what stands behind that filter.
    @inline(__always)
    func runIncluded(_ message: MessageAddress, _ frame: FrameReference, _ deliver: (MessageAddress) -> Int) -> Int {
        unsafe withUnsafePointer(to: body) { unsafe borrowing($0) { $0.run(message, frame, deliver) } }
    }

    func run(_ message: MessageAddress, _ frame: FrameReference, _ deliver: (MessageAddress) -> Int) -> Int {
        includes(message) ? runIncluded(message, frame, deliver) : 0
    }
}

/// How many more messages a listener receives that ends after a number of them.
@usableFromInline
final class MessagesLeft: Sendable {
    private let count: Atomic<Int>

    @usableFromInline
    init(_ count: Int) { self.count = Atomic(count) }

    /// Counts a message. Returns how many were left before; 0 or less for one that is too many.
    @usableFromInline
    func take() -> Int { count.wrappingSubtract(1, ordering: .relaxed).oldValue }
}
