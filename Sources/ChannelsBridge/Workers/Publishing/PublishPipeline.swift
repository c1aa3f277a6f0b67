internal import Channels

/// The durable messages of one route that are not acknowledged yet, in the order in which they were posted:
/// the transitions, without locks.
///
/// Several messages are published before the first is acknowledged. If an attempt fails, nothing more is
/// published until all attempts in progress have ended. Then the failed ones are published again, in order,
/// before the others. No message is given up because it takes too long; a message that does not fit is
/// refused when it is posted.
///
/// The variables of a ``Departure`` in the pipeline are guarded like the pipeline itself.
struct PublishPipeline: Sendable {
    enum Action {
        /// Encode these messages in order, then call ``encoded(_:rest:)``.
        case encode([Departure])
        /// Publish these messages in order. Call ``ended(_:attempt:with:)`` for each, or ``putBack(_:)`` for
        /// the last ones.
        case publish([Departure])
        /// Wait, and then set ``isPaused`` to false.
        case pause(attempts: Int)
        /// There is nothing to do now.
        case wait
        /// There will never be anything to do again.
        case done
    }

    /// The outcome of an attempt.
    enum End { case acknowledged, failed, refused }

    /// What an attempt means for its message.
    enum Outcome {
        case isOver, isToBeRepeated
        /// The message had ended before, or the pipeline has been abandoned.
        case wasKnown
    }

    private let limit: Int
    private let byteLimit: Int
    private let window: Int

    /// How many messages are encoded before they are published in a row, so that the connection writes them
    /// together.
    private static let batch = 64

    private var unencoded = Fifo<Departure>()
    /// How many messages are being encoded.
    private var encoding = 0
    private var waiting = Fifo<Departure>()
    /// How many attempts are in flight.
    private var unacknowledged = 0
    /// Messages whose attempt has failed and is to be repeated.
    private var failed: [Departure] = []
    private var lastPlace: UInt64 = 0
    private var failuresInARow = 0
    private var bytes = 0
    /// Places reserved for messages that will be taken.
    private var reserved = 0
    /// Whether messages may be published.
    var isReady = false
    /// Whether attempts have failed; the caller ends the pause by setting it to false.
    var isPaused = false
    private(set) var isClosed = false
    private(set) var isAbandoned = false

    /// - Precondition: Every limit is positive.
    init(limit: Int, byteLimit: Int, window: Int) {
        require(
            limit > 0 && byteLimit > 0 && window > 0,
            "defect of swift-channels: a pipeline of \(limit) messages, \(byteLimit) bytes and a window of \(window)"
        )
        (self.limit, self.byteLimit, self.window) = (limit, byteLimit, window)
    }

    /// How many messages are not acknowledged.
    var count: Int { unencoded.count + encoding + waiting.count + unacknowledged + failed.count }

    /// Whether another message would be taken.
    var hasRoom: Bool { !isClosed && count + reserved < limit && bytes < byteLimit }

    /// Whether a place may be reserved. The number is small, because a message with a reserved place is taken
    /// no matter how many bytes it has.
    var mayReserve: Bool { hasRoom && unencoded.count + encoding + reserved < Self.batch }

    /// Reserves a place for a message. Call it only if ``mayReserve`` is true.
    mutating func reserve() {
        reserved += 1
    }

    /// Gives back reserved places.
    mutating func giveBackPlaces(_ count: Int) {
        reserved -= count
    }

    /// Whether to call ``next()`` after an attempt has ended: only if a quarter of the window is free, so
    /// that the publishing task wakes for many messages at a time, or if there is nothing else to publish.
    var isWorthALook: Bool {
        unacknowledged <= window - max(window / 4, 1) || !failed.isEmpty || waiting.isEmpty && unencoded.isEmpty
    }

    /// Takes a message. One with a reserved place is taken even after ``close()``.
    ///
    /// - Returns: Whether there was room.
    mutating func take(_ departure: Departure) -> Bool {
        if departure.isReserved { reserved -= 1 }
        guard departure.isReserved ? !isAbandoned : hasRoom else { return false }
        unencoded.append(departure)
        return true
    }

    /// Stops taking messages, except those with a reserved place.
    mutating func close() {
        isClosed = true
    }

    /// Returns what to do next.
    mutating func next() -> Action {
        if isReady, !isPaused, !failed.isEmpty, unacknowledged == 0 {
            // Failed messages come in order, before those that were never published.
            failed.sort { $0.place < $1.place }
            waiting.prepend(failed)
            failed = []
            isPaused = true
            return .pause(attempts: failuresInARow)
        }
        let mayPublish = isReady && !isPaused && failed.isEmpty && unacknowledged < window
        if encoding == 0, !unencoded.isEmpty, waiting.isEmpty || !mayPublish {
            encoding = min(unencoded.count, Self.batch)
            return .encode(unencoded.popFirst(encoding))
        }
        guard mayPublish, !waiting.isEmpty else {
            let isDone = isClosed && count == 0 && (reserved == 0 || isAbandoned)
            return isDone ? .done : .wait
        }
        let departures = waiting.popFirst(min(waiting.count, window - unacknowledged))
        for departure in departures {
            departure.attempts += 1
            departure.isUnderWay = true
        }
        unacknowledged += departures.count
        return .publish(departures)
    }

    /// Records that messages were encoded.
    ///
    /// - Parameter rest: Those of the same action that were not encoded.
    /// - Returns: The messages for whose bytes there is no room, in order. A message with a reserved place is
    ///   always taken, and so is a larger one if it is alone.
    mutating func encoded(_ departures: [Departure], rest: ArraySlice<Departure>) -> [Departure] {
        encoding = 0
        if isAbandoned { return [] }
        unencoded.prepend(Array(rest))
        var refused: [Departure] = []
        for departure in departures {
            guard departure.isReserved || bytes == 0 || bytes + departure.bytes <= byteLimit else {
                refused.append(departure)
                continue
            }
            bytes += departure.bytes
            lastPlace += 1
            departure.place = lastPlace
            waiting.append(departure)
        }
        return refused
    }

    /// Takes back the last messages of a ``Action/publish(_:)``, which were not published because an earlier
    /// one has failed.
    mutating func putBack(_ departures: ArraySlice<Departure>) {
        guard !isAbandoned else { return }
        for departure in departures {
            departure.attempts -= 1
            departure.isUnderWay = false
        }
        unacknowledged -= departures.count
        waiting.prepend(Array(departures))
    }

    mutating func ended(_ departure: Departure, attempt: Int, with end: End) -> Outcome {
        guard departure.isUnderWay, departure.attempts == attempt, !isAbandoned else { return .wasKnown }
        departure.isUnderWay = false
        unacknowledged -= 1
        switch end {
        case .acknowledged, .refused:
            failuresInARow = 0
            bytes -= departure.bytes
            return .isOver
        case .failed:
            if failed.isEmpty { failuresInARow += 1 }
            failed.append(departure)
            return .isToBeRepeated
        }
    }

    /// Gives up everything.
    ///
    /// - Returns: How many messages are not acknowledged, and those of them that were in the pipeline, to be
    ///   released without a lock.
    mutating func abandon() -> (count: Int, released: [Departure]) {
        (isClosed, isAbandoned) = (true, true)
        defer {
            (unencoded, waiting, failed) = (Fifo(), Fifo(), [])
            (encoding, unacknowledged, bytes) = (0, 0, 0)
        }
        return (count, failed + waiting + unencoded)
    }
}
