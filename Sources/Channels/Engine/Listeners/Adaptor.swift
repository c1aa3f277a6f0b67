internal import Synchronization

/// The composed adaptors of one listener: they decide whether it receives a message, and what it receives instead.
///
/// They run on the poster's thread, before the listener is called or the message is queued for it. So a skipped message
/// takes no place in a mailbox, and one that passes is queued in the form in which the listener receives it. What
/// becomes of a message is returned, not stored, so nothing is left over for the next listener.
@usableFromInline
final class Adaptor: Sendable {
    /// What became of a message. One word, because two flags cost a post four instructions.
    @frozen @usableFromInline
    struct Outcome: Sendable {
        private static let lastBit = 2

        private let word: Int

        init(reached: Int, isLast: Bool) { word = reached | (isLast ? Self.lastBit : 0) }

        @usableFromInline static var skipped: Outcome { Outcome(reached: 0, isLast: false) }
        @usableFromInline static var ended: Outcome { Outcome(reached: 0, isLast: true) }

        /// How many listeners the message has reached: one or none.
        var reached: Int { word & 1 }

        /// Whether the listener receives no further message.
        var isLast: Bool { word & Self.lastBit != 0 }
    }

    /// Returns whether a message passes.
    @usableFromInline
    typealias Condition = @Sendable (MessageAddress) -> Bool
    /// Delivers what was made of a message. `isLast` says whether the listener ends before it receives that.
    @usableFromInline
    typealias Deliver = (MessageAddress, _ isLast: Bool) -> Outcome
    /// Takes the message and the frame of its post. Returns what `deliver` returns, or what else became of the message.
    @usableFromInline
    typealias Run = @Sendable (MessageAddress, FrameReference, _ deliver: Deliver) -> Outcome

    /// The closures. Not copyable, so that a post borrows them and neither retains nor releases them.
    private struct Body: ~Copyable {
        let condition: Condition
        let run: Run
    }

    /// The layout of what the listener receives.
    let layout: MessageLayout
    private let body: Body

    /// - Parameter next: The adaptor that runs on the messages that this one lets pass.
    init(_ condition: Condition?, _ run: Run?, before next: Adaptor?, to layout: MessageLayout) {
        self.layout = next?.layout ?? layout
        let run: Run =
            switch (run, next) {
            case (let run?, let next?):
                { message, frame, deliver in
                    run(message, frame) { adapted, isLast in
                        let outcome = next.run(adapted, frame) { deliver($0, isLast || $1) }
                        // The listener ends, whatever becomes of the message in later adaptors.
                        return isLast ? Outcome(reached: outcome.reached, isLast: true) : outcome
                    }
                }
            case (nil, let next?): { next.run($0, $1, $2) }
            case (let run?, nil): run
            case (nil, nil): { message, _, deliver in deliver(message, false) }
            }
        body = Body(condition: condition ?? { _ in true }, run: run)
    }

    /// Whether the first filter, if there is one, lets the message pass. Separate from `run`, so that skipping a
    /// message costs next to nothing.
    @inline(__always)
    func includes(_ message: MessageAddress) -> Bool {
        // Lent in place, for the call, here and below.
        unsafe withUnsafePointer(to: body) { unsafe borrowing($0) { $0.condition(message) } }
    }

    /// Runs what follows the first filter.
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

    /// Counts a message. Returns how many were left before it; 0 or less if it is one too many.
    @usableFromInline
    func countDown() -> Int { count.wrappingSubtract(1, ordering: .relaxed).oldValue }
}
