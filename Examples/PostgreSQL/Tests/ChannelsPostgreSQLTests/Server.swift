import CPostgreSQL
import ChannelsBridge
import ChannelsPostgreSQL
import Foundation
import Testing

/// A server with one database: the one that `check` has started, or a test's own.
final class Server: Sendable {
    /// The server that `check` has started; nil without it.
    static let shared = ProcessInfo.processInfo.environment["CHANNELS_POSTGRESQL"].map { Server($0, folder: nil) }

    /// The connection string of libpq.
    let connection: String
    private let folder: String?

    private init(_ connection: String, folder: String?) { (self.connection, self.folder) = (connection, folder) }

    /// Starts a server for one test, which can stop it and restore a copy.
    init() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "channels-\(UUID())").path()
        connection = "host=\(folder) user=postgres dbname=postgres"
        self.folder = folder
        try Self.shell(
            "mkdir \(folder) && initdb -D \(folder)/data -U postgres -A trust -E UTF8 --locale=C.UTF-8 --no-sync"
        )
        try start()
    }

    deinit {
        guard let folder else { return }
        _ = try? Self.shell("pg_ctl stop -m immediate -D \(folder)/data; rm -rf \(folder)")
    }

    func start() throws {
        try Self.shell("pg_ctl start -w -D \(folder!)/data -l \(folder!)/log -o \"-c listen_addresses= -k \(folder!)\"")
    }

    /// Stops the server as if its machine had lost power.
    func stop() throws { try Self.shell("pg_ctl stop -w -m immediate -D \(folder!)/data") }

    func copy() throws { try Self.shell("pg_basebackup -h \(folder!) -U postgres -c fast -D \(folder!)/copy") }

    /// Restores a dump of another server's database in this one.
    func restore(dumpOf other: Server) throws {
        let dump = "pg_dump -h \(other.folder!) -U postgres -f \(folder!)/dump postgres"
        try Self.shell("\(dump) && psql -v ON_ERROR_STOP=1 -h \(folder!) -U postgres -f \(folder!)/dump postgres")
    }

    /// Replaces the server's data with the copy.
    func goBack() throws {
        try stop()
        try Self.shell("rm -rf \(folder!)/data && mv \(folder!)/copy \(folder!)/data")
        try start()
    }

    /// Runs a command as a user who may run a server, because root may not. It does not use `Process`, which
    /// would wait for the server.
    private static func shell(_ command: String) throws {
        let path = "PATH=\(ProcessInfo.processInfo.environment["CHANNELS_POSTGRESQL_BIN"] ?? ""):/usr/bin:/bin"
        let user = getuid() == 0 ? "runuser -u postgres -- " : ""
        let status = system("cd / && \(user)env \(path) sh -c '\(command)' </dev/null >/dev/null 2>&1")
        try #require(status == 0, "\(command) failed")
    }

    func transport(_ change: (inout PostgreSQLConfiguration) -> Void = { _ in }) -> PostgreSQLTransport {
        var configuration = PostgreSQLConfiguration(connection: connection)
        // On a busy machine, a hundred tests at once keep one server busy.
        configuration.answerTimeout = .seconds(60)
        change(&configuration)
        return PostgreSQLTransport(configuration)
    }

    func client() throws -> Client { try Client(connection) }
}

/// A test's own connection, as a user of libpq would have.
final class Client: @unchecked Sendable {  // one task at a time uses it
    let handle: OpaquePointer

    init(_ connection: String) throws {
        handle = PQconnectdb(connection)
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

    /// Runs a query until it returns true.
    func wait(until sql: String) async throws {
        while try run("SELECT \(sql)").first?.first != "t" { await Task.yield() }
    }

    /// Runs a body in a transaction, which is then committed or rolled back.
    func transaction(commits: Bool = true, _ body: (OpaquePointer) throws -> Void) throws {
        try run("BEGIN")
        defer { withExtendedLifetime(self) {} }
        do { try body(handle) } catch {
            try run("ROLLBACK")
            throw error
        }
        try run(commits ? "COMMIT" : "ROLLBACK")
    }
}
