internal import Channels

extension Recorder {
    // MARK: The next elements, or a failure

    /// Waits for the next elements, and throws if they do not arrive in time.
    ///
    /// Each call continues where the previous one ended; concurrent calls are served in order. Elements
    /// already recorded are returned without waiting. ``all`` keeps the elements that were read.
    ///
    /// ```swift
    /// #expect(try await recorder.next(2, timeout: .seconds(1)) == [soup, tea])
    /// #expect(try await recorder.next(1, timeout: .seconds(1)) == [cake])
    /// ```
    ///
    /// - Parameters:
    ///   - count: How many elements to wait for. At least 1.
    ///   - timeout: How long to wait, by the continuous clock.
    /// - Returns: `count` elements, in the order recorded.
    /// - Throws: ``TestFailure`` with the code ``TestFailure/Code/missingMessages`` and a list of the messages that did
    ///   arrive, none of which count as read. `CancellationError` if the task is cancelled.
    public func next(
        _ count: Int,
        timeout: Duration,
        fileID: StaticString = #fileID,
        line: UInt = #line
    ) async throws -> [Element] {
        require(count > 0, "Recorder.next(\(count), timeout: \(timeout)): the count must be positive; write 1 or more")
        let outcome = await wait(for: .next(count), until: .now + timeout.asLimit)
        if let elements = outcome.enough { return elements }
        try Task.checkCancellation()
        throw TestFailure(
            missing: count,
            timeout: timeout,
            arrived: outcome.all[outcome.read...].map { "\($0)" },
            read: outcome.read,
            fileID,
            line
        )
    }

    /// Waits for the next element, and throws a ``TestFailure`` if it does not arrive in time.
    public func next(
        timeout: Duration,
        fileID: StaticString = #fileID,
        line: UInt = #line
    ) async throws -> Element {
        try await next(1, timeout: timeout, fileID: fileID, line: line)[0]
    }

    // MARK: All elements, without a time limit

    /// Waits until `count` elements have been recorded, or the task is cancelled.
    ///
    /// - Returns: The first `count` elements, or fewer if the task was cancelled.
    public func first(_ count: Int) async -> [Element] {
        Array(await wait(count: count).prefix(count))
    }

    /// Waits until at least `count` elements have been recorded, or the task is cancelled.
    ///
    /// - Returns: All elements recorded by then.
    @discardableResult
    public func wait(count: Int) async -> [Element] {
        await wait(for: .count(count)).all
    }

    /// Waits until the recorded elements satisfy a condition, or the task is cancelled.
    ///
    /// - Parameter isEnough: The condition. Called once with all elements so far, and then each time an element is
    ///   added, with all elements up to that one, so that a condition that holds only briefly is not missed.
    /// - Returns: The elements that satisfied it; all of them if the task was cancelled.
    @discardableResult
    public func wait(until isEnough: @Sendable ([Element]) -> Bool) async -> [Element] {
        var (elements, mark) = present
        if isEnough(elements) { return elements }
        while await wait(for: .change(since: mark)).enough != nil {
            let (further, now) = changes(since: mark)
            if now.emptied != mark.emptied { elements = [] }
            mark = now
            for element in further {
                elements.append(element)
                if isEnough(elements) { return elements }
            }
        }
        return all
    }
}
