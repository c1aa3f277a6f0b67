#if SQLite
internal import Channels
internal import ChannelsBridge
internal import Foundation
internal import GRDB

/// The state that a connection keeps between two polls of the file.
struct Waking {
    /// How long it waits before the file is asked again whether it has changed, soon after it has and later.
    private static let (shortest, longest) = (Duration.milliseconds(5), Duration.milliseconds(100))
    /// A problem that returns sooner than this is reported by the status only.
    private static let quiet = Duration.seconds(60)

    /// The data version at the last poll.
    var version: Int?
    /// When something was last found, or done.
    var lastActivity = ContinuousClock.now
    private var nextCheck = ContinuousClock.now
    private var nextPruning = ContinuousClock.now + .seconds(10)
    /// The other members, as far as they are known.
    var others: [SQLiteMember.Other] = []
    private var told: [String: ContinuousClock.Instant] = [:]
    private var unsent = 0

    /// A twentieth of the time for which it was silent.
    var interval: Duration { min(max(lastActivity.duration(to: .now) / 20, Self.shortest), Self.longest) }

    mutating func checksNow() -> Bool {
        guard nextCheck <= .now else { return false }
        nextCheck = .now + .milliseconds(250)
        return true
    }

    mutating func prunesNow() -> Bool {
        guard nextPruning <= .now else { return false }
        nextPruning = .now + .seconds(30)
        return true
    }

    /// Whether a problem should be reported.
    mutating func isWorthTelling(_ reason: BridgeError) -> Bool {
        let kind = reason.detail ?? "\(reason.code)"
        defer { told[kind] = .now }
        return told[kind].map { $0.duration(to: .now) > Self.quiet } ?? true
    }

    /// A message that is not durable could not be stored.
    mutating func lose() { unsent += 1 }

    mutating func takeUnsent() -> Int {
        defer { unsent = 0 }
        return unsent
    }
}

extension SQLiteSession {
    /// Polls whether another connection has changed the file and whether other members are alive, and does
    /// the due work. Writes nothing if nothing has happened. Returns the time until the next poll; nil if it
    /// is closed.
    func poll() -> Duration? {
        let (isClosed, subscribes, others, checks) = state.withLock { state in
            let subscribes = !state.plain.isEmpty || !state.durable.isEmpty || !state.watched.isEmpty
            return (state.isClosed, subscribes, state.waking.others, state.waking.checksNow())
        }
        guard !isClosed else { return nil }
        if checks {
            file.look()
            // They take it for one that has ended.
            if !isKnownToOthers { file.goBack(from: file.epoch) }
        }
        if subscribes || checks, !file.isInTrouble {
            do {
                let found = try file.version()
                let isNew = state.withLock { state in
                    guard state.waking.version != found else { return false }
                    (state.waking.version, state.waking.lastActivity) = (found, .now)
                    return true
                }
                if isNew { ring() }
            } catch { report(error) }
            if others.contains(where: \.hasEnded) { removeEnded() }
        }
        let prunes = state.withLock { !configuration.isObserver && $0.waking.prunesNow() }
        if prunes { Task { await prune() } }
        return state.withLock { $0.waking.interval }
    }

    /// Frees what members held that have ended.
    private func removeEnded() {
        state.withLock { state in state.waking.others.removeAll(where: \.hasEnded) }
        let (holder, path) = (holder, file.location)
        let ended = Locked<[String]>([])
        file.settle { db in
            let tokens = try Self.removeEnded(but: holder, beside: path, db)
            ended.withLock { $0 = tokens }
        } _: { [weak self] error in
            if let error { self?.report(error) }
            for token in ended.withLock({ $0 }) { SQLiteMember.remove(token, beside: path) }
        }
    }

    /// A message that is not durable could not be stored. While the file is in trouble, they are counted.
    func lose(_ error: BridgeError) {
        state.withLock { $0.waking.lose() }
        report(error)
    }

    /// Learns who the other members are.
    func learn(_ tokens: Set<String>) {
        let holder = holder
        // Who only looks, or publishes, leaves that to others.
        guard !holder.isEmpty else { return }
        state.withLock { state in
            let known = Set(state.waking.others.map(\.token))
            state.waking.others.removeAll { !tokens.contains($0.token) }
            for token in tokens.subtracting(known) where token != holder {
                state.waking.others.append(SQLiteMember.Other(token, beside: file.location))
            }
        }
    }

    private func prune() async {
        do {
            let passed = state.withLock { $0.durable.map(\.place) }
            let lost = try await SQLiteRetention.prune(file, configuration.retention, passed: passed)
            if lost > 0 {
                let what = "messages beyond the retention that a durable name had not settled: \(lost)"
                fail(BridgeError(.messagesLost, detail: "\(file.path): \(what)"))
            }
            try await file.shortenLog()
        } catch { report(error) }
    }
}
#endif
