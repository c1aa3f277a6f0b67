/// Carries out one route of a running bridge.
///
/// The bridge calls, in this order: ``start()``, ``work()``, ``finish()``, and, if that takes too long,
/// ``abandon()``. If a start fails, the transport is closed, and every worker starts again on another connection.
/// If the bridge ends without having started, it calls `abandon` and then `finish`.
protocol RouteWorker: AnyObject, Sendable {
    /// The capabilities that the transport must have.
    var needs: TransportCapabilities { get }

    /// Subscribes. The transport is connected; incoming messages are queued until ``work()``. Messages of an
    /// earlier connection are left to the broker.
    func start() async throws

    /// Begins to deliver and to send.
    func work()

    /// Returns when the broker's initial values have been delivered, as far as readiness requires.
    func caughtUp() async

    /// The connection was lost and is back.
    func connectionIsBack()

    /// The broker has lost its last values. Called with nil when that is noticed, then with each watched subject that
    /// has no value any more.
    func lastValuesLost(on subject: String?)

    /// Accepts nothing more once messages in flight have arrived, and returns when everything accepted is
    /// done.
    func finish() async

    /// Gives up unfinished work at once, so that ``finish()`` returns soon.
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
