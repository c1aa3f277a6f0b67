internal import Channels

/// Holds a transport's connection between `connect` and `close`, even if these are called concurrently. It is
/// meant for authors of transports.
public final class ConnectionPhase<Connection: Sendable>: Sendable {
    /// Identifies an attempt to connect, so that one that was closed before it ended is recognized.
    private final class Attempt: Sendable {}

    private enum Phase {
        case new, connecting(Attempt), connected(Connection), closed
    }

    private let phase = Locked(Phase.new)
    /// What the details of errors begin with.
    private let place: String?

    /// Creates a phase without a connection.
    ///
    /// - Parameter place: What the details of errors begin with, such as the path of a file.
    public init(_ place: String? = nil) { self.place = place }

    /// Connects with `open`, unless there already is a connection or an attempt to make one.
    ///
    /// - Parameter abandon: Ends a connection that was closed while it was being made.
    /// - Throws: ``BridgeError/Code/alreadyRunning``; ``BridgeError/Code/closed`` if it was closed meanwhile;
    ///   the errors of `open`.
    public func connect(
        _ open: () async throws -> Connection,
        abandon: (Connection) async -> Void
    ) async throws -> Connection {
        let attempt = Attempt()
        try phase.withLock { phase in
            switch phase {
            case .new, .closed: phase = .connecting(attempt)
            case .connecting, .connected:
                throw error(.alreadyRunning, "the transport is connected: close it first")
            }
        }
        let connection: Connection
        do { connection = try await open() } catch {
            _ = end(attempt, with: .new)
            throw error
        }
        guard end(attempt, with: .connected(connection)) else {
            await abandon(connection)
            throw error(.closed, "the transport was closed")
        }
        return connection
    }

    /// Ends an attempt with another phase. Returns false, and changes nothing, if the attempt is no longer
    /// the current one.
    private func end(_ attempt: Attempt, with next: Phase) -> Bool {
        phase.withLock { phase in
            guard case .connecting(let found) = phase, found === attempt else { return false }
            phase = next
            return true
        }
    }

    /// Ends the connection, or an attempt to connect.
    ///
    /// - Returns: The connection, which the caller has to close; nil if there is none.
    public func close() -> Connection? {
        let former = phase.withLock { phase in
            defer { phase = .closed }
            return phase
        }
        guard case .connected(let connection) = former else { return nil }
        return connection
    }

    /// The connection.
    ///
    /// - Throws: ``BridgeError/Code/notConnected``, ``BridgeError/Code/closed``.
    public func connection(for subject: String? = nil) throws -> Connection {
        switch phase.withLock({ $0 }) {
        case .connected(let connection): return connection
        case .new, .connecting: throw error(.notConnected, "connect has not returned yet", subject)
        case .closed: throw error(.closed, "the transport was closed", subject)
        }
    }

    private func error(_ code: BridgeError.Code, _ detail: String, _ subject: String? = nil) -> BridgeError {
        BridgeError(code, subject: subject, detail: [place, detail].compactMap { $0 }.joined(separator: ": "))
    }
}
