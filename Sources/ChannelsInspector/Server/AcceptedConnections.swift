#if Inspector
internal import HummingbirdCore
internal import Logging
internal import NIOCore
internal import NIOHTTPTypes
internal import Synchronization

/// Holds the connections that were accepted and that no task handles yet.
///
/// A server that is cancelled drops them. SwiftNIO ends the process where it finds that nobody has finished the
/// writer of a connection, so they are closed here.
final class AcceptedConnections: Sendable {
    typealias Connection = HTTP1Channel.Value

    private struct State {
        var waiting: [ObjectIdentifier: Connection] = [:]
        var isClosed = false
    }

    private let state = Mutex(State())

    /// Holds a connection until it is taken. Where there is no server any more, closes it instead.
    func add(_ connection: Connection) throws {
        let isClosed = state.withLock { state in
            if !state.isClosed { state.waiting[ObjectIdentifier(connection.channel)] = connection }
            return state.isClosed
        }
        guard isClosed else { return }
        Task { await Self.close(connection) }
        throw ChannelError.ioOnClosedChannel
    }

    /// Hands a connection to the task that handles it, and finishes its writer.
    func take(_ connection: Connection) {
        _ = state.withLock { $0.waiting.removeValue(forKey: ObjectIdentifier(connection.channel)) }
    }

    /// Closes all that were not taken, and those that are still to come.
    func close() async {
        let left = state.withLock { state in
            state.isClosed = true
            defer { state.waiting = [:] }
            return Array(state.waiting.values)
        }
        for connection in left { await Self.close(connection) }
    }

    private static func close(_ connection: Connection) async {
        // It may be closed already, which is an error that changes nothing.
        try? await connection.executeThenClose { _, _ in }
    }
}

/// Serves HTTP, and has the connections held until a task handles them.
struct HeldChannel: ServerChildChannel {
    let base: HTTP1Channel
    let accepted: AcceptedConnections

    func setup(channel: any NIOCore.Channel, logger: Logger) -> EventLoopFuture<HTTP1Channel.Value> {
        base.setup(channel: channel, logger: logger).flatMapThrowing { connection in
            try accepted.add(connection)
            return connection
        }
    }

    func handle(value connection: HTTP1Channel.Value, logger: Logger) async {
        accepted.take(connection)
        await base.handle(value: connection, logger: logger)
    }
}
#endif
