/// Carries out one route of a running bridge.
///
/// The bridge calls, in this order: ``start()``, ``work()``, ``finish()``, and, if that takes too long,
/// ``abandon()``. If a start fails, the transport is closed, and every worker starts again on another connection.
/// If the bridge ends without having started, it calls `abandon` and then `finish`.
protocol RouteWorker: AnyObject, Sendable {
    /// The capabilities that the transport must have.
    var needs: TransportCapabilities { get }

    /// Subscribes. The transport is connected; incoming messages wait until ``work()``. What has come in on an
    /// earlier connection is left to the broker.
    func start() async throws

    /// Begins to deliver and to send.
    func work()

    /// Returns when what the broker had at the start has been delivered, as far as the bridge is not ready without it.
    func caughtUp() async

    /// The connection was lost and is back.
    func connectionIsBack()

    /// The broker has lost its last values. Called with nil when that is noticed, then with each watched subject that
    /// has no value any more.
    func lastValuesLost(on subject: String?)

    /// Accepts nothing more once what is on its way has arrived, and returns when everything accepted is done.
    func finish() async

    /// Gives up immediately what is not done, so that ``finish()`` returns soon.
    func abandon()

    /// Adds the messages that are waiting or were dropped.
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
