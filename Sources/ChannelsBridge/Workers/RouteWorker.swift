/// Does the work of one route of a bridge.
///
/// The bridge calls, in this order, ``start()``, ``work()``, ``caughtUp()``, ``finish()`` and, if that takes
/// too long, ``abandon()``. If a start fails, the transport is closed, and every worker starts again on
/// another connection. If the bridge ends before it has started, it calls `abandon` and then `finish`.
protocol RouteWorker: AnyObject, Sendable {
    /// The capabilities that the transport must have.
    var needs: TransportCapabilities { get }

    /// Subscribes. The transport is connected, and incoming messages are queued until ``work()``. Messages
    /// from an earlier connection are left to the broker.
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

    /// Gives up unfinished work at once, so that ``finish()`` returns soon.
    func abandon()

    /// Adds the messages that are waiting or were dropped to the statistics.
    func add(to statistics: inout BridgeStatistics)
}

extension RouteWorker {
    var needs: TransportCapabilities { [] }
    func start() async throws {}
    func work() {}
    func caughtUp() async {}
    func connectionIsBack() {}
    func lastValuesLost(on subject: String?) {}
    func add(to statistics: inout BridgeStatistics) {}
}
