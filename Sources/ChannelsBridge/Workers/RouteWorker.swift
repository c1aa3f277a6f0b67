/// One route of a bridge at work.
///
/// The bridge calls, in this order: ``start()``, ``work()``, then ``finish()`` and, where that takes too
/// long, ``abandon()``; where it fails to start, only `abandon`.
protocol RouteWorker: AnyObject, Sendable {
    /// What the transport must be able to do.
    var needs: TransportCapabilities { get }

    /// Subscribes. The transport is connected; what comes is kept until ``work()``.
    func start() async throws

    /// Begins to deliver and send.
    func work()

    /// Takes in nothing more, and returns when everything it has taken in is done.
    func finish() async

    /// Gives up at once what is not done, so that ``finish()`` returns soon.
    func abandon()

    /// Adds what waits or was dropped.
    func add(to statistics: inout BridgeStatistics)
}

extension RouteWorker {
    func start() async throws {}
    func work() {}
    func add(to statistics: inout BridgeStatistics) {}
}
