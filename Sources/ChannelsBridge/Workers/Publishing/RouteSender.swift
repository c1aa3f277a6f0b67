internal import Channels

/// Publishes the messages of an outgoing route. Its worker forwards the calls of ``RouteWorker``.
protocol RouteSender: RouteWorker {
    /// How many messages may wait for ``send(_:)``. The route drops others.
    var buffering: BufferingPolicy { get }

    /// Accepts a message on the poster's thread; returns nil if it is refused.
    func take(_ message: any Sendable, postedTo name: String) -> Departure?

    /// Returns when an accepted message has been sent. An error that it throws becomes the failure of the
    /// post.
    func send(_ departure: Departure) async throws
}
