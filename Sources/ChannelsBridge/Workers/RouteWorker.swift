/// Does the work of one route of a bridge.
///
/// The bridge calls, in this order, ``start()``, ``work()``, ``caughtUp()``, ``finish()`` and, if that takes
/// too long, ``abandon()``. If a start fails, it is repeated on the same connection. If the bridge ends before it is
/// ready, inbound workers are abandoned and then finish, and so are all others if there is no connection.
///
/// Inbound workers begin when all others have caught up, and finish before the others do, because the listeners and
/// responders that they call use the other routes.
protocol RouteWorker: AnyObject, Sendable {
    /// The capabilities that the transport must have.
    var needs: TransportCapabilities { get }

    /// Whether it calls listeners or responders with messages and requests of other processes.
    var isInbound: Bool { get }

    /// Subscribes. The transport is connected, and incoming messages are queued until ``work()``.
    func start() async throws

    /// Begins to deliver and to send.
    func work()

    /// Returns when the broker's initial values have been delivered, so that the bridge is ready.
    func caughtUp() async

    /// Called when the connection was lost and is back.
    func connectionIsBack()

    /// Called when the broker has lost its last values: with nil when that is noticed, and then with each
    /// watched subject that has no value any more.
    func lastValuesLost(on subject: String?)

    /// Stops accepting messages once those in flight have arrived, and returns when everything accepted is
    /// done.
    func finish() async

    /// Whether nothing would be left undone if the bridge ended now.
    var isIdle: Bool { get }

    /// Gives up unfinished work at once, so that ``finish()`` returns soon.
    func abandon()

    /// Adds the messages that are waiting or were dropped to the statistics.
    func add(to statistics: inout BridgeStatistics)
}

extension RouteWorker {
    var needs: TransportCapabilities { [] }
    var isInbound: Bool { false }
    func start() async throws {}
    func work() {}
    func caughtUp() async {}
    func connectionIsBack() {}
    func lastValuesLost(on subject: String?) {}
    func add(to statistics: inout BridgeStatistics) {}
}
