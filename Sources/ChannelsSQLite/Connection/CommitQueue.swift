#if SQLite
internal import ChannelsBridge
internal import GRDB

/// The changes of a connection that wait for the next commit, in the order of the calls, and what keeps them
/// waiting: the transitions, without a file or a clock of their own.
///
/// The cycle: (1) ``next(_:)`` says which changes to commit now; (2) the connection tries to commit them; (3)
/// ``committed(_:_:_:)`` or ``failed(_:_:_:)`` says which changes have ended, so that the connection can
/// report that.
///
/// If the file cannot be written, its *trouble* begins. Then publishing fails at once, changes that have to
/// be made sooner or later wait, and a commit is tried every second until one succeeds.
struct CommitQueue {
    typealias Instant = ContinuousClock.Instant

    /// A change to the file, and what to call when it has ended.
    struct Change {
        enum Kind {
            /// Stores a durable message, which no later one may overtake. Synced to disk.
            case message
            /// Stores a message that need not survive a power failure.
            case plain
            /// Makes another change, for which its caller waits. Synced to disk.
            case task
            /// Settles a message of this session, as soon as the file can be written.
            case settling
            /// Releases a message of this session to others, or removes old messages, as soon as the file can
            /// be written.
            case upkeep
            /// The last change of the connection, tried once.
            case last
        }

        let kind: Kind
        let make: (Database, FileSession) throws -> Void
        /// Called once, outside a transaction. The error is nil if the change was committed.
        var end: (BridgeError?) -> Void = { _ in }

        /// Whether it fails if the file cannot be written.
        fileprivate var mayFail: Bool { kind == .message || kind == .plain || kind == .task }
        fileprivate var isSynchronized: Bool { kind == .message || kind == .task }
        /// Whether there may be something to read or claim after the change.
        fileprivate var makesNews: Bool { kind != .settling }
    }

    /// Changes that are committed together.
    struct Batch {
        let changes: ArraySlice<Change>
        /// Whether a change that cannot be made fails alone. Otherwise all changes are tried again, one by
        /// one.
        let isSeparate: Bool
        /// Whether something is written even if there are no changes, to find out whether that is possible.
        let isProbe: Bool
        let isSynchronized: Bool
        let makesNews: Bool
    }

    /// Changes that have ended, and their errors.
    typealias Ends = [(change: Change, error: BridgeError?)]

    /// The pauses between attempts to lock the file. They are short, because SQLite's own handler waits
    /// longer and longer, and starves while others keep writing. They grow with each failed attempt, because
    /// otherwise the attempts of fifty processes would take more time than the commits.
    private static let (shortestPause, longestPause) = (Duration.milliseconds(2), Duration.milliseconds(10))
    private static let latePause = Duration.milliseconds(20)
    /// After this time without any commit, another program is taken to have locked the file. Only the pauses
    /// count, so that load is not mistaken for a lock on a busy machine, where attempts take longer.
    private static let longestUntold = Duration.milliseconds(1_300)
    /// How long to wait before another attempt to write to a file that could not be written.
    private static let troublePause = Duration.seconds(1)

    private var waiting: [Change] = []
    private(set) var trouble: (reason: BridgeError, since: Instant)?
    /// No commit is tried before this time.
    private var earliest: Instant?
    private var lockPause = shortestPause
    /// How long nobody has committed, as far as that is known.
    private var locked = Duration.zero
    /// After this time with a lock, the changes that may fail do.
    private let busyTimeout: Duration
    private var isSeparate = false
    /// How many changes to commit at once. On a nearly full disk, there may be room for only the first ones.
    private var mostAtOnce = Int.max

    init(busyTimeout: Duration) { self.busyTimeout = busyTimeout }

    var count: Int { waiting.count }
    private var hasLast: Bool { waiting.contains { $0.kind == .last } }

    /// Adds a change; returns the reason if it is refused.
    mutating func add(_ change: Change) -> BridgeError? {
        if change.mayFail, let trouble { return trouble.reason }
        waiting.append(change)
        // The last change is tried at once, unless the file is locked.
        if change.kind == .last, locked == .zero { earliest = nil }
        return nil
    }

    /// When something has to be committed; nil if nothing is waiting.
    func due(_ now: Instant) -> Instant? { waiting.isEmpty && trouble == nil ? nil : earliest ?? now }

    /// Until when a lock or trouble keeps the connection from writing.
    func blocked(_ now: Instant) -> Instant { max(earliest ?? now, now) }

    /// Whether the file has been locked for longer than callers wait.
    var isLate: Bool { locked > busyTimeout }

    /// Records that others have committed, so that the file is in use, but not locked.
    mutating func othersCommitted() { locked = .zero }

    /// Returns the changes to commit now; nil if there are none.
    func next(_ now: Instant) -> Batch? {
        guard blocked(now) <= now, !waiting.isEmpty || trouble != nil else { return nil }
        let changes = waiting.prefix(mostAtOnce)
        // For a lock, no probe is needed.
        let isProbe = !(trouble?.reason.isLock ?? true)
        return Batch(
            changes: changes,
            isSeparate: isSeparate,
            isProbe: isProbe,
            isSynchronized: isProbe || changes.contains { $0.isSynchronized },
            makesNews: trouble != nil || changes.contains { $0.makesNews }
        )
    }

    /// Records that a transaction was committed, except for changes that could not be made.
    ///
    /// - Parameter failures: The errors of changes that could not be made, by their places in the batch.
    /// - Returns: The changes that have ended, and since when there was trouble, if it is over.
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

    /// Records that nothing was committed.
    ///
    /// - Returns: The changes that will not be tried again, and the trouble, if it is new.
    mutating func failed(_ batch: Batch?, _ error: BridgeError, _ now: Instant) -> (ends: Ends, trouble: BridgeError?) {
        guard error.concernsTheFile else {
            // The error concerns one of several changes, which are made one by one from now on, or the probe.
            if let batch, !batch.changes.isEmpty, !batch.isSeparate {
                isSeparate = true
                return ([], nil)
            }
            return giveUp(error, now)
        }
        if error.isLock {
            // Without these, others find out by themselves that the connection has ended.
            if hasLast, waiting.allSatisfy({ $0.kind == .last || $0.kind == .upkeep }) {
                return (take { _ in true }.map { ($0, nil) }, nil)
            }
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

    /// Drops the settlements and the upkeep of a session that has ended.
    mutating func endSession() { _ = take { $0.kind == .settling || $0.kind == .upkeep } }

    /// Removes and returns all changes, because nothing will be committed any more.
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

    /// Why a message was not stored if an earlier one cannot be stored.
    fileprivate static var behind: BridgeError {
        BridgeError(.notAcknowledged, detail: "an earlier message could not be stored: publish this one again")
    }
}

extension CommitQueue.Batch {
    /// Makes the changes in a transaction.
    ///
    /// - Returns: The errors of the changes that could not be made, by their places.
    /// - Throws: The first error, unless the changes are separate and the error concerns only one of them.
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
