internal import CPostgreSQL
internal import ChannelsBridge
internal import Foundation

/// A parameter of a statement. Values are never part of its text.
enum Parameter: Sendable {
    case null
    case text(String)
    case bytes([UInt8])

    static func int(_ value: some BinaryInteger) -> Parameter { .text("\(value)") }
    static func seconds(_ time: Duration) -> Parameter { .text("\(time / .seconds(1))") }
}

/// A statement and its parameters.
struct Statement: Sendable {
    let sql: String
    let parameters: [Parameter]

    init(_ sql: String, _ parameters: Parameter...) { self.init(sql, parameters) }

    init(_ sql: String, _ parameters: [Parameter]) { (self.sql, self.parameters) = (sql, parameters) }
}

/// What a statement returned: its rows in the binary format, and how many rows it has changed.
struct Answer: Sendable {
    struct Row: Sendable {
        fileprivate let values: [[UInt8]?]

        func bytes(_ column: Int) -> [UInt8]? { values[column] }
        func text(_ column: Int) -> String { String(decoding: values[column] ?? [], as: UTF8.self) }
        func bool(_ column: Int) -> Bool { values[column] == [1] }
        func double(_ column: Int) -> Double { Double(bitPattern: bits(column)) }
        /// The value of an integer of four or eight bytes.
        func int(_ column: Int) -> Int64 {
            values[column]?.count == 4
                ? Int64(Int32(truncatingIfNeeded: bits(column))) : Int64(bitPattern: bits(column))
        }

        private func bits(_ column: Int) -> UInt64 { (values[column] ?? []).reduce(0) { $0 << 8 | UInt64($1) } }
    }

    let rows: [Row]
    let changed: Int
}

/// The connection cannot be used any more. What was sent may or may not have been carried out.
struct ConnectionLost: Error { let reason: BridgeError }

/// A connection to the server, which only one thread uses. It blocks the thread no longer than the time that
/// the server has to answer, and no longer than a tenth of a second once the connection is abandoned.
final class Connection {
    private let handle: OpaquePointer
    private let timeout: Duration
    private let isAbandoned: () -> Bool
    /// The names of prepared statements, by their texts.
    private var prepared: [String: String] = [:]
    /// Whether a notification has arrived.
    private(set) var hasRung = false

    /// Connects to a server.
    ///
    /// - Throws: A `BridgeError`.
    init(_ info: String, timeout: Duration, isAbandoned: @escaping () -> Bool) throws {
        (self.timeout, self.isAbandoned) = (timeout, isAbandoned)
        // Later settings win, so the user's own come last.
        let settings = [
            ("fallback_application_name", "swift-channels"), ("client_encoding", "UTF8"), ("keepalives_idle", "5"),
            ("keepalives_interval", "5"), ("keepalives_count", "3"), ("tcp_user_timeout", "15000"), ("dbname", info),
        ]
        let handle = withParameters(settings.map { .text($0.0) }) { names, _, _ in
            withParameters(settings.map { .text($0.1) }) { values, _, _ in PQconnectStartParams(names, values, 1) }
        }
        guard let handle else { throw BridgeError(.notConnected, detail: "libpq has no memory for a connection") }
        self.handle = handle
        // The texts of errors then contain their codes. There is no other way to know these while connecting.
        PQsetErrorVerbosity(handle, PQERRORS_VERBOSE)
        PQsetNoticeProcessor(handle, { _, _ in }, nil)
        let end = ContinuousClock.now + timeout
        var next = PQstatus(handle) == CONNECTION_BAD ? PGRES_POLLING_FAILED : PGRES_POLLING_WRITING
        while next != PGRES_POLLING_OK {
            guard next != PGRES_POLLING_FAILED else { throw BridgeError(connecting: Self.message(handle)) }
            do { try wait(writing: next == PGRES_POLLING_WRITING, until: end) } catch let lost as ConnectionLost {
                throw lost.reason
            }
            next = PQconnectPoll(handle)
        }
        PQsetErrorVerbosity(handle, PQERRORS_DEFAULT)
        PQsetnonblocking(handle, 1)
    }

    deinit { PQfinish(handle) }

    var descriptor: Int32 { PQsocket(handle) }

    /// Whether a notification has arrived since the last call.
    func takeBell() -> Bool {
        defer { hasRung = false }
        return hasRung
    }

    /// Reads what has arrived.
    func receive() throws {
        guard PQconsumeInput(handle) == 1, PQstatus(handle) == CONNECTION_OK else { throw lost() }
        while let notification = PQnotifies(handle) {
            hasRung = true
            PQfreemem(notification)
        }
    }

    /// Runs statements in one transaction, sent together.
    ///
    /// - Throws: ``SQLFailure``, after which nothing has changed; ``ConnectionLost``.
    @discardableResult
    func run(_ statements: [Statement]) throws -> [Answer] {
        guard PQenterPipelineMode(handle) == 1 else { throw lost() }
        // For each command, the text that it prepares, if it prepares one.
        var (commands, names) = ([String?](), prepared)
        for statement in statements {
            let (name, count) = (names[statement.sql] ?? "channels_\(names.count)", Int32(statement.parameters.count))
            if names.updateValue(name, forKey: statement.sql) == nil {
                guard PQsendPrepare(handle, name, statement.sql, 0, nil) == 1 else { throw lost() }
                commands.append(statement.sql)
            }
            let isSent = withParameters(statement.parameters) { values, lengths, formats in
                PQsendQueryPrepared(handle, name, count, values, lengths, formats, 1) == 1
            }
            guard isSent else { throw lost() }
            commands.append(nil)
        }
        guard PQpipelineSync(handle) == 1 else { throw lost() }
        var (answers, failure) = ([Answer](), SQLFailure?.none)
        let end = ContinuousClock.now + timeout
        for prepares in commands {
            while let result = try result(until: end) {
                defer { PQclear(result) }
                switch PQresultStatus(result) {
                case PGRES_TUPLES_OK, PGRES_COMMAND_OK:
                    if let prepares { prepared[prepares] = names[prepares] } else { answers.append(Answer(result)) }
                case PGRES_PIPELINE_ABORTED: break
                default: failure = failure ?? SQLFailure(result)
                }
            }
        }
        if let failure, failure.endsConnection { throw ConnectionLost(reason: BridgeError(failure)) }
        if let sync = try result(until: end) { PQclear(sync) }
        guard PQexitPipelineMode(handle) == 1 else { throw lost() }
        if let failure { throw failure }
        return answers
    }

    /// Returns the next result, or nil after the last one of a command.
    private func result(until end: ContinuousClock.Instant) throws -> OpaquePointer? {
        while true {
            let isUnsent = PQflush(handle)
            guard isUnsent >= 0 else { throw lost() }
            if PQisBusy(handle) == 0 { return PQgetResult(handle) }
            try wait(writing: isUnsent == 1, until: end)
            try receive()
        }
    }

    /// Waits until the server has sent something or accepts more.
    private func wait(writing: Bool, until end: ContinuousClock.Instant) throws {
        var found = pollfd(fd: descriptor, events: Int16(writing ? POLLIN | POLLOUT : POLLIN), revents: 0)
        while poll(&found, 1, 100) <= 0 {
            guard !isAbandoned() else { throw ConnectionLost(reason: BridgeError(.closed)) }
            guard ContinuousClock.now < end else {
                let detail = "the server has not answered within \(timeout)"
                throw ConnectionLost(reason: BridgeError(.notConnected, detail: detail))
            }
        }
    }

    private func lost() -> ConnectionLost {
        ConnectionLost(reason: BridgeError(.notConnected, detail: Self.message(handle)))
    }

    static func message(_ handle: OpaquePointer) -> String { oneLine(String(cString: PQerrorMessage(handle))) }
}

/// Calls a function of libpq with the parameters of a statement, which the function copies.
func withParameters<Result>(
    _ parameters: [Parameter],
    _ body: (UnsafePointer<UnsafePointer<CChar>?>, UnsafePointer<Int32>, UnsafePointer<Int32>) -> Result
) -> Result {
    // All values are in one array, each followed by a zero byte: text has to end with one, and an empty value
    // must not be NULL.
    var (all, ends) = ([UInt8](), [Int]())
    all.reserveCapacity(256)
    for parameter in parameters {
        switch parameter {
        case .null: break
        case .text(let text): all.append(contentsOf: text.utf8)
        case .bytes(let bytes): all.append(contentsOf: bytes)
        }
        all.append(0)
        ends.append(all.count - 1)
    }
    let starts = [0] + ends.map { $0 + 1 }
    let lengths = zip(starts, ends).map { Int32($1 - $0) } + [0]
    let formats: [Int32] = parameters.map { if case .bytes = $0 { 1 } else { 0 } } + [0]
    return (all + [0]).withUnsafeBytes { all in
        let start = all.baseAddress!.assumingMemoryBound(to: CChar.self)  // it has an element
        let values = zip(starts, parameters).map { place, parameter in
            if case .null = parameter { UnsafePointer<CChar>?.none } else { start + place }
        }
        return (values + [nil]).withUnsafeBufferPointer { body($0.baseAddress!, lengths, formats) }  // it has one, too
    }
}

extension Answer {
    fileprivate init(_ result: OpaquePointer) {
        rows = (0..<PQntuples(result)).map { row in
            Row(
                values: (0..<PQnfields(result)).map { column in
                    guard PQgetisnull(result, row, column) == 0, let start = PQgetvalue(result, row, column) else {
                        return nil
                    }
                    let length = Int(PQgetlength(result, row, column))
                    return Array(UnsafeRawBufferPointer(start: start, count: length))
                }
            )
        }
        changed = Int(String(cString: PQcmdTuples(result))) ?? 0
    }
}
