import CPostgreSQL
import ChannelsBridge
import ChannelsPostgreSQL
import Foundation
import Testing

/// The server that `check` has started.
enum Server {
    static let connection = ProcessInfo.processInfo.environment["CHANNELS_POSTGRESQL"]
    static var isThere: Bool { connection != nil }

    static func transport(_ change: (inout PostgreSQLConfiguration) -> Void = { _ in }) -> PostgreSQLTransport {
        var configuration = PostgreSQLConfiguration(connection: connection ?? "")
        change(&configuration)
        return PostgreSQLTransport(configuration)
    }
}

/// A connection of a test's own: what a user of libpq has.
final class Client: @unchecked Sendable {  // one test uses it, one call at a time
    let handle: OpaquePointer

    init(_ options: String = "") throws {
        handle = PQconnectdb("\(Server.connection ?? "") \(options)")
        try #require(PQstatus(handle) == CONNECTION_OK, "\(String(cString: PQerrorMessage(handle)))")
        PQsetNoticeProcessor(handle, { _, _ in }, nil)
    }

    deinit { PQfinish(handle) }

    /// Runs a statement, and returns its rows as text.
    @discardableResult
    func run(_ sql: String) throws -> [[String]] {
        let result = PQexec(handle, sql)
        defer { PQclear(result) }
        guard [PGRES_COMMAND_OK, PGRES_TUPLES_OK].contains(PQresultStatus(result)) else {
            throw BridgeError(.transportFailure, detail: String(cString: PQerrorMessage(handle)))
        }
        return (0..<PQntuples(result)).map { row in
            (0..<PQnfields(result)).map { String(cString: PQgetvalue(result, row, $0)) }
        }
    }

    /// Runs a query until it has a result.
    func wait(until sql: String) async throws {
        while try run(sql).first?.first != "t" { await Task.yield() }
    }
}
