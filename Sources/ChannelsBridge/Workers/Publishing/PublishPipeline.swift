internal import Channels

/// The durable messages of one route that are not acknowledged yet, in the order in which they were posted:
/// the transitions, without locks.
///
/// Several are published before the first is acknowledged. If an attempt fails, nothing more is published
/// until every attempt that was made has ended; then those that failed are published again, in order, before
/// the others. Nothing is given up because it takes long: what does not fit is refused when it is posted.
struct PublishPipeline<Departure> {
    /// A message to publish.
    struct Entry {
        let number: UInt64
        let departure: Departure
        let message: TransportMessage
        /// The bytes that it takes up in the bridge.
        let charge: Charge?
        var attempts = 0
    }

    enum Action {
        /// Encode this, then call ``encoded(_:as:)`` or ``refused()``.
        case encode(Departure)
        /// Publish this, then call ``ended(_:with:)``.
        case publish(Entry)
        /// Wait, and call ``resume()``.
        case pause(attempts: Int)
        /// There is nothing to do now.
        case wait
        /// There will be nothing to do any more.
        case done
    }

    /// What has become of an attempt.
    enum End { case acknowledged, failed, refused }

    private let limit: Int
    private let byteLimit: Int
    private let window: Int

    private var unencoded = Fifo<Departure>()
    private var isEncoding = false
    /// Whether more is encoded before anything is published.
    private var isGathering = true
    private static var batch: Int { 32 }
    private var waiting = Fifo<Entry>()
    private var unacknowledged: [UInt64: Entry] = [:]
    /// Attempts that failed, to be repeated.
    private var failed: [Entry] = []
    private var lastNumber: UInt64 = 0
    private var failuresInARow = 0
    private var bytes = 0
    /// Places for messages that will be taken.
    private var reserved = 0
    private var isReady = false
    private var isPaused = false
    private(set) var isClosed = false
    private var isAbandoned = false

    /// - Precondition: Every limit is positive.
    init(limit: Int, byteLimit: Int, window: Int) {
        precondition(limit > 0 && byteLimit > 0 && window > 0, "nothing would ever be published")
        (self.limit, self.byteLimit, self.window) = (limit, byteLimit, window)
    }

    /// How many messages are not acknowledged.
    var count: Int { unencoded.count + (isEncoding ? 1 : 0) + waiting.count + unacknowledged.count + failed.count }

    /// Whether another message would be taken.
    var hasRoom: Bool { !isClosed && count + reserved < limit && bytes < byteLimit }

    /// Keeps a place for a message.
    ///
    /// - Returns: Whether there was one.
    mutating func reserve() -> Bool {
        guard hasRoom else { return false }
        reserved += 1
        return true
    }

    /// A place that was kept is not needed.
    mutating func giveBackReservation() {
        reserved -= 1
    }

    /// Whether the end of an attempt is worth a look at ``next()``: a quarter of the window is free, so that the
    /// task that publishes wakes for many messages at a time, or there is nothing else to publish.
    var isWorthALook: Bool {
        unacknowledged.count <= window - max(window / 4, 1) || !failed.isEmpty || waiting.isEmpty && unencoded.isEmpty
    }

    /// Takes a message.
    ///
    /// - Parameter isReserved: Whether a place was kept for it.
    /// - Returns: Whether there was room.
    mutating func take(_ departure: Departure, isReserved: Bool = false) -> Bool {
        if isReserved { reserved -= 1 }
        guard isReserved ? !isClosed : hasRoom else { return false }
        unencoded.append(departure)
        return true
    }

    /// Messages may be published from now on.
    mutating func open() {
        isReady = true
    }

    /// Takes no more messages.
    mutating func close() {
        isClosed = true
    }

    /// What to do next.
    mutating func next() -> Action {
        if isReady, !isPaused, !failed.isEmpty, unacknowledged.isEmpty {
            // In order, and before those that were never published.
            failed.sort { $0.number < $1.number }
            waiting.prepend(failed)
            failed = []
            isPaused = true
            return .pause(attempts: failuresInARow)
        }
        let mayPublish = isReady && !isPaused && failed.isEmpty && unacknowledged.count < window
        // Several in a row, so that they are published in a row: the connection writes them together.
        if waiting.isEmpty { isGathering = true }
        if !isEncoding, isGathering || !mayPublish, let departure = unencoded.popFirst() {
            isEncoding = true
            isGathering = waiting.count + 1 < Self.batch
            return .encode(departure)
        }
        isGathering = false
        if mayPublish, var entry = waiting.popFirst() {
            entry.attempts += 1
            unacknowledged[entry.number] = entry
            return .publish(entry)
        }
        return isClosed && count == 0 ? .done : .wait
    }

    /// A message was encoded.
    ///
    /// - Returns: Whether there is room for its bytes. A single larger message is taken; none, after
    ///   ``abandon()``.
    mutating func encoded(_ departure: Departure, as message: TransportMessage, _ charge: Charge? = nil) -> Bool {
        isEncoding = false
        guard !isAbandoned, bytes == 0 || bytes + message.byteCount <= byteLimit else { return false }
        bytes += message.byteCount
        lastNumber += 1
        waiting.append(Entry(number: lastNumber, departure: departure, message: message, charge: charge))
        return true
    }

    /// A message could not be encoded.
    mutating func refused() {
        isEncoding = false
    }

    /// An attempt has ended.
    ///
    /// - Returns: Whether the message is done with: not if it failed, or if this attempt had ended before.
    mutating func ended(_ number: UInt64, with end: End) -> Bool {
        guard let entry = unacknowledged.removeValue(forKey: number) else { return false }
        switch end {
        case .acknowledged, .refused:
            failuresInARow = 0
            bytes -= entry.message.byteCount
            return true
        case .failed:
            if failed.isEmpty { failuresInARow += 1 }
            failed.append(entry)
            return false
        }
    }

    /// The pause is over.
    mutating func resume() {
        isPaused = false
    }

    /// Gives up everything.
    ///
    /// - Returns: What is not acknowledged, apart from a message that is being encoded.
    mutating func abandon() -> [Departure] {
        (isClosed, isAbandoned) = (true, true)
        defer {
            (unencoded, waiting, unacknowledged, failed, bytes) = (Fifo(), Fifo(), [:], [], 0)
        }
        let entries = Array(unacknowledged.values) + failed + waiting
        return entries.sorted { $0.number < $1.number }.map(\.departure) + unencoded
    }
}

extension PublishPipeline.Entry: Sendable where Departure: Sendable {}
