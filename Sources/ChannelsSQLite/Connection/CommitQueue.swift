#if SQLite
internal import ChannelsBridge
internal import GRDB

/// The changes of a connection that wait for the next commit, in the order of the calls, and what keeps them waiting.
///
/// A cycle: (1) ``next(_:)`` says which changes are to be committed now; (2) the connection tries that; (3)
/// ``committed(_:_:_:)`` or ``failed(_:_:_:)`` says whose end is to be told. A value, without a file or a clock of its
/// own.
///
/// If the file cannot be written, its *trouble* begins: what is published fails at once, what has to be done sooner
/// or later waits, and a commit is tried each second until one succeeds.
struct CommitQueue {
    typealias Instant = ContinuousClock.Instant

    /// A change of the file, and its end.
    struct Change {
        enum Kind {
            /// Stores a durable message: none of those behind it may overtake it. Synchronised with the disk.
            case message
            /// Stores a message that need not survive a power failure.
            case plain
            /// Something else that its caller waits for. Synchronised with the disk.
            case task
            /// Settles a message of this session, as soon as the file can be written.
            case settling
            /// Lets others have a message of this session, or removes what is old, as soon as the file can be written.
            case upkeep
            /// The last one, tried once.
            case last
        }

        let kind: Kind
        let make: (Database, FileSession) throws -> Void
        /// Called once, without a transaction: nil if it is committed.
        let end: (BridgeError?) -> Void

        /// Whether it fails if the file cannot be written.
        fileprivate var mayFail: Bool { kind == .message || kind == .plain || kind == .task }
        fileprivate var isSynchronized: Bool { kind == .message || kind == .task }
        /// Whether there may be something to be read or claimed once it is made.
        fileprivate var makesNews: Bool { kind != .settling }
    }

    /// What is committed together.
    struct Batch {
        let changes: ArraySlice<Change>
        /// Whether a change that cannot be made fails alone. Otherwise all are tried once more.
        let isSeparate: Bool
        /// Whether something is written in any case, to see whether that is possible.
        let isProbe: Bool
        let isSynchronized: Bool
        let makesNews: Bool
    }

    /// Changes that have ended, and how.
    typealias Ends = [(change: Change, error: BridgeError?)]

    /// Between two attempts to get the lock of the file, whoever writes all the time: SQLite's own handler waits ever
    /// longer, and starves. The more attempts fail, the rarer they become, for all alike: with fifty processes, they
    /// would take more time than the commits.
    private static let (shortestPause, longestPause) = (Duration.milliseconds(2), Duration.milliseconds(10))
    private static let latePause = Duration.milliseconds(20)
    /// After so long without a commit of anybody, another program has locked the file. Only the pauses are counted: on
    /// a busy machine attempts take longer, and load is not mistaken for a lock.
    private static let longestUntold = Duration.milliseconds(1_300)
    /// How long it waits before it tries a file again that could not be written.
    private static let troublePause = Duration.seconds(1)

    private var waiting: [Change] = []
    private(set) var trouble: (reason: BridgeError, since: Instant)?
    /// No commit is tried before.
    private var earliest: Instant?
    private var lockPause = shortestPause
    /// For how long nobody has committed, as far as that is known.
    private var locked = Duration.zero
    /// After that, what can fails.
    private let busyTimeout: Duration
    private var isSeparate = false
    /// On a nearly full disk, there may be room for the first ones.
    private var mostAtOnce = Int.max

    init(busyTimeout: Duration) { self.busyTimeout = busyTimeout }

    var count: Int { waiting.count }
    private var hasLast: Bool { waiting.contains { $0.kind == .last } }

    /// Adds a change. Returns why it is refused, if it is.
    mutating func add(_ change: Change) -> BridgeError? {
        if change.mayFail, let trouble { return trouble.reason }
        waiting.append(change)
        // The last one is tried at once, but for a lock.
        if change.kind == .last, locked == .zero { earliest = nil }
        return nil
    }

    /// When something is to be committed; nil if nothing waits.
    func due(_ now: Instant) -> Instant? { waiting.isEmpty && trouble == nil ? nil : earliest ?? now }

    /// Until when a lock, or trouble, keeps the connection from writing.
    func blocked(_ now: Instant) -> Instant { max(earliest ?? now, now) }

    /// Whether the lock of the file could not be had for the time that callers wait.
    var isLate: Bool { locked > busyTimeout }

    /// Others have committed: the file is not locked, but in use.
    mutating func othersCommitted() { locked = .zero }

    /// The changes that are to be committed now; nil if there are none.
    func next(_ now: Instant) -> Batch? {
        guard blocked(now) <= now, !waiting.isEmpty || trouble != nil else { return nil }
        let changes = waiting.prefix(mostAtOnce)
        // That a lock is gone shows by itself.
        let isProbe = !(trouble?.reason.isLock ?? true)
        return Batch(
            changes: changes,
            isSeparate: isSeparate,
            isProbe: isProbe,
            isSynchronized: isProbe || changes.contains { $0.isSynchronized },
            makesNews: trouble != nil || changes.contains { $0.makesNews }
        )
    }

    /// A transaction is committed, but for the changes that could not be made.
    ///
    /// - Parameter failures: By their places in the batch.
    /// - Returns: All that have ended, and since when there was trouble, if that is over.
    mutating func committed(_ batch: Batch?, _ failures: [Int: BridgeError]) -> (ends: Ends, trouble: Instant?) {
        let changes = batch?.changes ?? []
        var ends = changes.enumerated().map { (change: $1, error: failures[$0]) }
        waiting.removeFirst(changes.count)
        if ends.contains(where: { $0.change.kind == .message && $0.error != nil }) {
            ends += take { $0.kind == .message }.map { ($0, Self.behind) }
        }
        defer { trouble = nil }
        (isSeparate, locked, earliest) = (false, .zero, nil)
        lockPause = max(lockPause / 2, Self.shortestPause)
        if !changes.isEmpty { mostAtOnce = mostAtOnce < .max / 2 ? mostAtOnce * 2 : .max }
        return (ends, trouble?.since)
    }

    /// Nothing is committed.
    ///
    /// - Returns: Those that will not be tried again, and the trouble, if it is a new one.
    mutating func failed(_ batch: Batch?, _ error: BridgeError, _ now: Instant) -> (ends: Ends, trouble: BridgeError?) {
        guard error.concernsTheFile else {
            // It is one of several, and they are made one by one now; or the probe.
            if let batch, !batch.changes.isEmpty, !batch.isSeparate {
                isSeparate = true
                return ([], nil)
            }
            return giveUp(error, now)
        }
        if error.isLock {
            locked += lockPause
            if isLate { return giveUp(error, now, pause: Self.latePause) }
            earliest = now + lockPause
            lockPause = min(lockPause * 1.25, Self.longestPause)
            return ([], locked >= Self.longestUntold ? begin(error, now) : nil)
        }
        if error.isForWantOfRoom, let count = batch?.changes.count, count > 1 {
            mostAtOnce = count / 2
            return ([], nil)
        }
        return giveUp(error, now)
    }

    /// The session has ended: what was to be settled of it is settled by nobody.
    mutating func endSession() { _ = take { $0.kind == .settling || $0.kind == .upkeep } }

    /// Nothing will be committed any more.
    mutating func close() -> [Change] { take { _ in true } }

    private mutating func giveUp(_ error: BridgeError, _ now: Instant, pause: Duration = troublePause) -> (
        Ends, BridgeError?
    ) {
        earliest = now + pause
        let isLast = hasLast
        let ends = take { isLast || $0.mayFail }.map { (change: $0, error: BridgeError?.some(error)) }
        return (ends, begin(error, now))
    }

    private mutating func begin(_ error: BridgeError, _ now: Instant) -> BridgeError? {
        defer { trouble = (error, trouble?.since ?? now) }
        return trouble?.reason.detail == error.detail ? nil : error
    }

    private mutating func take(_ isTaken: (Change) -> Bool) -> [Change] {
        defer { waiting.removeAll(where: isTaken) }
        return waiting.filter(isTaken)
    }

    /// Why a message was not stored that is behind one that cannot be.
    fileprivate static var behind: BridgeError {
        BridgeError(.notAcknowledged, detail: "an earlier message could not be stored: publish this one again")
    }
}

extension CommitQueue.Batch {
    /// Makes its changes in a transaction.
    ///
    /// - Returns: What went wrong with those that could not be made, by their places.
    /// - Throws: The first error, unless they are made separately and it concerns the change alone.
    func make(_ db: Database, _ session: FileSession) throws -> [Int: BridgeError] {
        var failures: [Int: BridgeError] = [:]
        var isStopped = false
        for (place, change) in changes.enumerated() {
            guard isSeparate else {
                try change.make(db, session)
                continue
            }
            if isStopped, change.kind == .message {
                failures[place] = CommitQueue.behind
                continue
            }
            do {
                try db.inSavepoint {
                    try change.make(db, session)
                    return .commit
                }
            } catch {
                let error = BridgeError(error, path: session.path)
                guard !error.concernsTheFile else { throw error }
                failures[place] = error
                if change.kind == .message { isStopped = true }
            }
        }
        return failures
    }
}
#endif
