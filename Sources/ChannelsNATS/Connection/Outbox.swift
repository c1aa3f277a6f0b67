#if NATS
/// The messages waiting to be sent, and the state of the writer: the transitions, without locks. Each returns
/// what the caller must do once the lock is released.
struct Outbox: ~Copyable {
    enum Phase { case connected, disconnected, closed }
    enum Submission { case taken, takenAndStartWriter, waitForSpace, full, notConnected, closed }

    private(set) var phase = Phase.connected
    /// Incremented with each reconnection. A writer that failed on an earlier connection retries at once
    /// instead of waiting for another one.
    private(set) var epoch = 0
    private var waiting = PackedMessages()
    /// The bytes of the batch being written. They count until the C client has them.
    private var writingBytes = 0
    private var isWriting = false
    private let limit: Int

    init(limit: Int) {
        self.limit = limit
    }

    var isEmpty: Bool { waiting.isEmpty }
    var isIdle: Bool { waiting.isEmpty && !isWriting }

    /// Accepts a message if it fits. A message larger than the limit is accepted if nothing else is waiting;
    /// otherwise it could never be sent.
    ///
    /// - Parameter isOverLimit: Whether it is accepted even if it does not fit.
    mutating func submit(_ message: borrowing some OutgoingMessage, isOverLimit: Bool = false) -> Submission {
        if phase == .closed { return .closed }
        if message.isBoundToConnection, !isConnected(message.epoch) { return .notConnected }
        let held = waiting.byteCount + writingBytes
        guard waiting.append(message, ifSizeIsAtMost: held == 0 || isOverLimit ? .max : limit - held) else {
            return phase == .connected ? .waitForSpace : .full
        }
        return startWriter() ? .takenAndStartWriter : .taken
    }

    /// Moves the waiting messages into an empty batch, whose memory is reused.
    ///
    /// - Returns: Whether there is anything to write; otherwise the writer ends.
    mutating func nextBatch(_ batch: inout PackedMessages) -> Bool {
        isWriting = !waiting.isEmpty && phase == .connected
        // If there is nothing more to write, the memory for many messages is released.
        if isWriting { swap(&batch, &waiting) } else if waiting.isEmpty { waiting.removeAll() }
        writingBytes = batch.byteCount
        return isWriting
    }

    /// Puts unwritten messages back before those submitted since.
    ///
    /// - Returns: Whether the writer continues or has ended, and how many messages are lost because the
    ///   connection was closed.
    mutating func putBack(_ rest: inout PackedMessages, since epoch: Int) -> (goesOn: Bool, lost: Int) {
        guard phase != .closed else {
            defer { rest.removeAll() }
            (writingBytes, isWriting) = (0, false)
            return (false, rest.count)
        }
        // Queued messages may be bound to a newer connection.
        rest.removeBound()
        swap(&rest, &waiting)
        waiting.append(contentsOf: rest)
        rest.removeAll()
        writingBytes = 0
        if epoch == self.epoch, phase == .connected { phase = .disconnected }
        isWriting = phase == .connected
        return (isWriting, 0)
    }

    mutating func disconnect() {
        if phase == .connected { phase = .disconnected }
        waiting.removeBound()
    }

    /// - Returns: Whether a writer has to be started.
    mutating func reconnect() -> Bool {
        guard phase != .closed else { return false }
        phase = .connected
        epoch += 1
        return !waiting.isEmpty && startWriter()
    }

    /// - Returns: How many messages were waiting and are lost.
    mutating func close() -> Int {
        phase = .closed
        defer { waiting = PackedMessages() }
        return waiting.count
    }

    private func isConnected(_ wanted: Int?) -> Bool { phase == .connected && (wanted ?? epoch) == epoch }

    private mutating func startWriter() -> Bool {
        guard !isWriting, phase == .connected else { return false }
        isWriting = true
        return true
    }
}
#endif
