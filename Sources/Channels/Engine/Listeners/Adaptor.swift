internal import Synchronization

/// The adaptors of one listener, composed: whether it receives a message, and as what.
///
/// They run on the poster's thread, before the listener is called or the message waits for it. So a message that is
/// skipped takes no place in a mailbox, and one that passes waits as the listener receives it. What becomes of a
/// message is returned, not noted anywhere: nothing is left for the next listener.
@usableFromInline
final class Adaptor: Sendable {
    /// What became of a message.
    @frozen @usableFromInline
    struct Outcome: OptionSet, Sendable {
        @usableFromInline let rawValue: Int

        @usableFromInline
        init(rawValue: Int) { self.rawValue = rawValue }

        init(reached: Int, isLast: Bool) { rawValue = reached | (isLast ? Self.ended.rawValue : 0) }

        /// It has not reached the listener.
        @usableFromInline static let skipped: Outcome = []
        /// It has reached the listener.
        static let delivered = Outcome(rawValue: 1)
        /// The listener receives no further message.
        @usableFromInline static let ended = Outcome(rawValue: 2)

        /// How many listeners it has reached: one or none.
        var reached: Int { rawValue & Self.delivered.rawValue }
    }

    /// Whether a message passes.
    @usableFromInline
    typealias Condition = @Sendable (MessageAddress) -> Bool
    /// Delivers what was made of a message. `isLast`: whether the listener ends before it receives that.
    @usableFromInline
    typealias Deliver = (MessageAddress, _ isLast: Bool) -> Outcome
    /// Is handed the message and the frame of its post. Returns what `deliver` returns, or what else became of the
    /// message.
    @usableFromInline
    typealias Run = @Sendable (MessageAddress, FrameReference, _ deliver: Deliver) -> Outcome

    /// Cannot be copied, so that a post borrows the closures and neither retains nor releases them.
    private struct Body: ~Copyable {
        let condition: Condition
        let run: Run
    }

    /// The layout of what the listener receives.
    let layout: MessageLayout
    private let body: Body

    /// - Parameter next: What runs on the messages that these let pass.
    init(_ condition: Condition?, _ run: Run?, before next: Adaptor?, to layout: MessageLayout) {
        self.layout = next?.layout ?? layout
        let run: Run =
            switch (run, next) {
            case (let run?, let next?):
                { message, frame, deliver in
                    run(message, frame) { adapted, isLast in
                        let outcome = next.run(adapted, frame) { deliver($0, isLast || $1) }
                        // Whatever becomes of the message further on.
                        return isLast ? outcome.union(.ended) : outcome
                    }
                }
            case (nil, let next?): { next.run($0, $1, $2) }
            case (let run?, nil): run
            case (nil, nil): { message, _, deliver in deliver(message, false) }
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
    func runIncluded(_ message: MessageAddress, _ frame: FrameReference, _ deliver: Deliver) -> Outcome {
        unsafe withUnsafePointer(to: body) { unsafe borrowing($0) { $0.run(message, frame, deliver) } }
    }

    private func run(_ message: MessageAddress, _ frame: FrameReference, _ deliver: Deliver) -> Outcome {
        includes(message) ? runIncluded(message, frame, deliver) : .skipped
    }
}

/// How many more messages a listener receives before it ends.
@usableFromInline
final class MessagesLeft: Sendable {
    private let count: Atomic<Int>

    @usableFromInline
    init(_ count: Int) { self.count = Atomic(count) }

    /// Counts a message. Returns how many were left before; 0 or less for one that is too many.
    @usableFromInline
    func countDown() -> Int { count.wrappingSubtract(1, ordering: .relaxed).oldValue }
}
