public import Channels

/// Runs a test with its own switchboard, and throws if a fault was raised or a listener outlives the test.
///
/// ```swift
/// @Test func aCheckoutIsShown() async throws {
///     try await withSwitchboard { board in
///         let screen = Screen(board)
///         await board[.checkout].postAndWait(Checkout(total: 12))
///         #expect(screen.total == 12)
///     }
/// }
/// ```
///
/// In the body, write `try await` outside of `#expect`: `let sale = try await recorder.next(timeout: .seconds(1))`,
/// then `#expect(sale == soup)`. The compiler ignores macros when it infers whether a closure throws.
///
/// The body runs in the caller's isolation. When it has returned, its objects should be deallocated, and their
/// listeners with them. A listener that is still registered then is reported with its channel and its registration
/// site; usually its owner or token has leaked. Before that, the function waits, up to the timeout, for owners that are
/// still held by running calls.
///
/// The function does not wait for a call whose listener has already ended. A fault that such a call raises after the
/// test is written to standard error.
///
/// An error thrown by the body is rethrown. If there were also faults, a ``TestFailure`` with both is thrown instead,
/// because a fault is often the cause.
///
/// - Parameters:
///   - reentrancy: The default for the switchboard's channels.
///   - settlingTimeout: How long to wait, by the continuous clock, for owners that are released on other
///     threads. A test that leaves no listener does not wait.
///   - body: The test.
/// - Throws: The error of the body; ``TestFailure`` with the code ``TestFailure/Code/faults`` or
///   ``TestFailure/Code/listenersLeft``.
public func withSwitchboard(
    reentrancy: Reentrancy = .nested(limit: 64),
    settlingTimeout: Duration = .seconds(1),
    fileID: StaticString = #fileID,
    line: UInt = #line,
    _ body: (Switchboard) async throws -> Void
) async throws {
    let faults = RaisedFaults()
    let board = Switchboard(reentrancy: reentrancy, onFault: { fault in faults.add(fault) })
    do {
        try await body(board)
    } catch {
        let raised = faults.end()
        guard !raised.isEmpty else { throw error }
        throw TestFailure(faults: raised, listeners: [], underlyingError: error, fileID, line)
    }
    let left = await board.listenersLeft(after: settlingTimeout)
    let raised = faults.end()
    guard raised.isEmpty, left.isEmpty else {
        throw TestFailure(faults: raised, listeners: left, underlyingError: nil, fileID, line)
    }
}

/// The faults of a test. Those raised after it has ended fail nothing, and are written to standard error instead.
private final class RaisedFaults: Sendable {
    /// The faults; nil when the test has ended.
    private let faults = Locked<[Fault]?>([])

    func add(_ fault: Fault) {
        let isLate = faults.withLock { faults in
            faults?.append(fault)
            return faults == nil
        }
        if isLate { fault.write() }
    }

    func end() -> [Fault] {
        faults.withLock { faults in
            defer { faults = nil }
            return faults ?? []
        }
    }
}

extension Switchboard {
    /// Returns the remaining listeners, one line for each: as soon as there are none, at the latest after the limit.
    fileprivate func listenersLeft(after limit: Duration) async -> [String] {
        let deadline = ContinuousClock.now + limit.asLimit
        while true {
            let left = listeners
            guard !left.isEmpty, ContinuousClock.now < deadline, !Task.isCancelled else { return left }
            // Polls, because nothing announces that the last reference to an owner was released.
            await Task.yield()
        }
    }
}

extension Switchboard {
    private var listeners: [String] {
        let shown = shown
        return (shown.channels + shown.protocols + shown.patterns).flatMap { channel in
            // A pattern's listener is in each matching channel, but is listed only once, with its pattern.
            channel.listeners.filter { $0.entry.deliveryKind != .pattern }.map { "\(channel.name): \($0)" }
        }
    }
}
