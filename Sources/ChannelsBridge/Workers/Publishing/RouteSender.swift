internal import Channels

/// Publishes what an outgoing route takes.
protocol RouteSender: Sendable {
    /// How many messages may wait for ``send(_:)``; the route drops others.
    var buffering: BufferingPolicy { get }

    /// Accepts a message, on the poster's thread; nil if it is not for this route.
    func take(_ message: any Sendable, postedTo name: String) -> Departure?

    /// Returns when an accepted message has been sent. Its error becomes the failure of the post.
    func send(_ departure: Departure) async throws

    /// The transport is connected.
    func work()

    /// The transport is connected again.
    func connectionIsBack()

    /// Accepts no more messages, and returns when the accepted ones have been sent or have failed. Must not
    /// be called in a cancelled task.
    func finish(_ token: ListenerToken) async

    /// Gives up at once. The token is already cancelled.
    func abandon()

    func add(_ token: ListenerToken, to statistics: inout BridgeStatistics)
}

/// Encodes a message of a route.
typealias EncodeMessage = @Sendable (_ message: any Sendable, _ subject: String) throws -> [UInt8]
