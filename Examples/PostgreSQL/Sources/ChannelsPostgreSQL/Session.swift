internal import ChannelsBridge
internal import Foundation

/// What a transport has between `connect` and `close`: a thread with a connection to the server, which it
/// replaces when it is lost.
///
/// Only this thread uses what is here, and it calls all handlers. Its cycle:
///
/// 1. Run the jobs of the ``Mailbox``, which put writes into a queue.
/// 2. Store what is in the queue, many writes in one transaction.
/// 3. After a notification or a poll, or when there is room again, claim messages and read what is new.
/// 4. Wait in `poll` for the server, a job or the next time.
final class Session {
    typealias OnEvent = @Sendable (TransportEvent) -> Void

    /// A statement that is waiting to be run, in one transaction with others.
    struct Change {
        let statement: Statement
        /// Whether it has to be on disk when it ends.
        var isDurable = false
        /// Whether it waits for a connection. Otherwise it fails if there is none.
        var waits = false
        /// Whether it must be the only such change in a transaction, because two of them may lock rows in
        /// different orders.
        var locks = false
        var bytes = 0
        let end: (Session, Result<Answer, any Error>) -> Void
    }

    private static let backoff = Backoff(first: .milliseconds(50), limit: .seconds(5))

    private let configuration: PostgreSQLConfiguration
    let mailbox: Mailbox
    let onEvent: OnEvent
    private(set) var connection: Connection?
    /// Identifies this connection in the database. It is random, so that no other connection has it, even in
    /// an older copy.
    private(set) var token: Int64 = 0
    var names: [DurableName] = []
    var reading = Reading()

    private var queue: [Change] = []
    /// How many changes at the front of the queue need their own transaction.
    private var single = 0
    /// How often in a row the first change has failed for a reason that passes, and when it is tried again.
    private var (failures, nextFlush) = (0, ContinuousClock.now)
    private var timers: [(time: ContinuousClock.Instant, run: (Session) -> Void)] = []
    private var nextPoll = ContinuousClock.now
    private var lostAt: ContinuousClock.Instant?
    private var (attempts, nextAttempt) = (0, ContinuousClock.now)
    /// How many messages that are not durable were lost since the connection was lost.
    private var unsent = 0
    private var hasEnded = false
    /// The cluster, and the newest transaction known to be on its disk. If that transaction has not even
    /// begun when the session connects again, an older copy of the database was restored.
    private var history: (system: String, transaction: Int64)?

    private init(_ configuration: PostgreSQLConfiguration, _ mailbox: Mailbox, _ onEvent: @escaping OnEvent) {
        (self.configuration, self.mailbox, self.onEvent) = (configuration, mailbox, onEvent)
    }

    /// Starts a thread, which then connects.
    static func start(
        _ configuration: PostgreSQLConfiguration,
        _ mailbox: Mailbox,
        _ opened: Once<Void>,
        _ onEvent: @escaping OnEvent
    ) {
        Thread.detachNewThread { Session(configuration, mailbox, onEvent).main(opened) }
    }

    private func main(_ opened: Once<Void>) {
        do {
            try open()
            onEvent(.connected)
            opened.finish(.success(()))
        } catch {
            hasEnded = true
            opened.finish(.failure(BridgeError.from(error)))
        }
        while !hasEnded {
            for job in mailbox.take() { job(self) }
            step()
            if !hasEnded { wait() }
        }
        mailbox.isConnected = false
        for job in mailbox.finish() { job(self) }
        failQueue()
    }

    private func step() {
        do {
            if connection == nil, !hasEnded, nextAttempt <= .now { try reconnect() }
            let due = timers.filter { $0.time <= .now }
            timers.removeAll { $0.time <= .now }
            for timer in due { timer.run(self) }
            guard let connection else { return }
            try flush()
            let polls = nextPoll <= .now
            if polls {
                nextPoll = .now + configuration.pollInterval
                let retention: [Parameter] = [.int(Schema.plainRetention), .seconds(configuration.retention)]
                let poll = Statement("SELECT channels_poll($1, $2, $3)", [.int(token)] + retention)
                let newest = try connection.run([poll])[0].rows[0].int(0)
                if let last = history?.transaction { history?.transaction = max(last, newest) }
            }
            let rings = connection.takeBell()
            try claim(all: rings || polls)
            if rings || polls { try readNew(connection) }
        } catch { fail(error) }
    }

    private func wait() {
        guard connection == nil || connection?.hasRung == false && !names.contains(where: { $0.isWanting }) else {
            return
        }
        var next = timers.map(\.time).min() ?? .now + .seconds(60)
        next = min(next, connection == nil ? nextAttempt : nextPoll)
        if connection != nil, !queue.isEmpty { next = min(next, nextFlush) }
        var found = [pollfd(fd: mailbox.descriptor, events: Int16(POLLIN), revents: 0)]
        if let connection { found.append(pollfd(fd: connection.descriptor, events: Int16(POLLIN), revents: 0)) }
        // At most a minute, because the number is small.
        let milliseconds = min(max(0, (next - .now) / .milliseconds(1)).rounded(.up), 60_000)
        _ = poll(&found, UInt(found.count), Int32(milliseconds))
        guard let connection, found.last?.revents != 0, found.count == 2 else { return }
        do { try connection.receive() } catch { fail(error) }
    }

    // MARK: The connection

    private func open() throws {
        let connection = try Connection(configuration.connection, timeout: configuration.answerTimeout) { [mailbox] in
            mailbox.isAbandoned
        }
        do {
            try Schema.prepare(connection)
            token = .random(in: .min ... .max)
            let process = "\(ProcessInfo.processInfo.processName)[\(ProcessInfo.processInfo.processIdentifier)]"
            let begin = Statement("SELECT * FROM channels_begin($1, $2)", .int(token), .text(process))
            let row = try connection.run([Statement("LISTEN channels"), begin])[1].rows[0]
            let now = (system: row.text(0), transaction: row.int(1))
            if let history, history.system != now.system || history.transaction > now.transaction {
                reading.forgetRevisions()
                let detail = "an older copy of the database was restored: what was stored since then is lost"
                onEvent(.failed(BridgeError(.messagesLost, detail: detail)))
            }
            history = now
            self.connection = connection
            for place in names.indices { try join(place) }
            try readAgain(connection)
        } catch let error as SQLFailure {
            self.connection = nil
            throw BridgeError(error)
        }
        (attempts, nextPoll) = (0, .now)
        mailbox.isConnected = true
    }

    private func reconnect() throws {
        do { try open() } catch {
            connection = nil
            attempts += 1
            nextAttempt = .now + Self.backoff.delay(before: attempts)
            let error = BridgeError.from(error)
            if error.code == .authenticationFailed || error.code == .settingsDiffer { onEvent(.failed(error)) }
            return
        }
        let gap = lostAt.map { $0.duration(to: .now) } ?? .zero
        onEvent(.reconnected(gap: gap, unsent: unsent))
        unsent = 0
    }

    /// Called when the connection is lost, or an answer makes no sense.
    private func fail(_ error: any Error) {
        guard connection != nil else { return }
        // If somebody has removed the tables, a new connection creates them.
        if let failure = error as? SQLFailure, BridgeError(failure).code != .notStored {
            onEvent(.failed(BridgeError(failure)))
            // Not tried again at once.
            for place in names.indices { names[place].isWanting = false }
            return
        }
        self.connection = nil
        mailbox.isConnected = false
        for place in names.indices { names[place].lose() }
        (lostAt, attempts, nextAttempt) = (.now, 0, .now)
        onEvent(.disconnected(reason: BridgeError.from(error)))
        failQueue()
    }

    /// Ends the changes that do not wait for a connection.
    private func failQueue() {
        let ended = queue.filter { hasEnded || !$0.waits }
        queue.removeAll { hasEnded || !$0.waits }
        let reason = hasEnded ? BridgeError(.closed) : BridgeError(.notConnected, detail: "the connection is lost")
        for change in ended { end(change, .failure(reason)) }
    }

    /// Stores what is in the queue, gives back the held messages, and ends.
    func close(_ once: Once<BridgeError?>) {
        guard !hasEnded else { return once.finish(.success(nil)) }
        var lost: BridgeError?
        do {
            nextFlush = .now
            try flush()
            try connection?.run([Statement("SELECT channels_release($1)", .int(token))])
        } catch { lost = BridgeError.from(error) }
        let isLost = queue.contains { $0.waits || $0.isDurable } || unsent > 0
        hasEnded = true
        failQueue()
        connection = nil
        once.finish(.success(isLost ? lost ?? BridgeError(.notConnected, detail: "there is no connection") : nil))
    }

    // MARK: Changes

    /// Runs a job that needs the connection, after everything that was requested before and is not held up.
    func perform<Value>(_ once: Once<Value>, _ subject: String?, _ body: (Connection) throws -> Value) {
        do {
            guard let connection else { throw BridgeError(hasEnded ? .closed : .notConnected) }
            try flush()
            once.finish(.success(try body(connection)))
        } catch {
            once.finish(.failure(BridgeError.from(error, subject: subject)))
            if error is ConnectionLost { fail(error) }
        }
    }

    func add(_ change: Change) {
        if hasEnded || connection == nil && !change.waits {
            return end(change, .failure(BridgeError(hasEnded ? .closed : .notConnected)))
        }
        queue.append(change)
    }

    /// Runs something later.
    func after(_ delay: Duration, _ run: @escaping (Session) -> Void) { timers.append((.now + delay, run)) }

    private func end(_ change: Change, _ result: Result<Answer, any Error>) {
        mailbox.release(change.bytes)
        change.end(self, result)
    }

    /// Stores what is in the queue. What fails for a reason that passes stays at its front, because what was requested
    /// after it must not be stored before it.
    ///
    /// - Throws: ``ConnectionLost``.
    private func flush() throws {
        while !queue.isEmpty, nextFlush <= .now, let connection {
            var (count, bytes, locks) = (0, 0, false)
            while count < min(queue.count, 512), count == 0 || bytes < 4 << 20 && single == 0,
                !(locks && queue[count].locks)
            {
                (bytes, locks, count) = (bytes + queue[count].bytes, locks || queue[count].locks, count + 1)
            }
            let batch = Array(queue[..<count])
            // Nothing has to be on disk, so the server need not wait for it.
            let loosely = Statement("SELECT set_config('synchronous_commit', 'off', true)")
            let statements = (batch.contains(where: \.isDurable) ? [] : [loosely]) + batch.map(\.statement)
            do {
                let answers = try connection.run(statements).suffix(count)
                queue.removeFirst(count)
                failures = 0
                for (change, answer) in zip(batch, answers) { end(change, .success(answer)) }
            } catch let failure as SQLFailure {
                // One of the changes is the reason. To find it, each gets its own transaction.
                guard count == 1 else {
                    single = count
                    continue
                }
                guard !failure.isPassing else {
                    failures += 1
                    nextFlush = .now + Self.backoff.delay(before: failures)
                    if failures == 1 { onEvent(.failed(BridgeError(failure))) }
                    return
                }
                queue.removeFirst()
                end(batch[0], .failure(failure))
            } catch {
                // These may have been stored.
                queue.removeFirst(count)
                unsent += batch.count { $0.waits }
                let detail = BridgeError.from(error).detail
                for change in batch { end(change, .failure(BridgeError(.notAcknowledged, detail: detail))) }
                throw error
            }
            single = max(0, single - 1)
        }
    }
}
