internal import Channels

/// A posted message to be published, with the context of its post.
final class Departure: @unchecked Sendable {  // what changes is touched as its comment says
    /// Its outcome: nil if it was sent.
    typealias End = (error: BridgeError?, isReported: Bool)

    let message: any Sendable
    let subject: String
    let time: Timestamp
    let trace: TraceContext?
    /// The place that it takes up in the bridge.
    let charge: Charge
    /// Whether a place was kept for it, which it has however many bytes it turns out to have.
    let isReserved: Bool

    // The rest is for durable messages. While one is being encoded, it is touched by the task that does so
    // alone; otherwise with the lock of the sender held.

    /// The message for the transport. Constant from when it was encoded until it has ended.
    var packed: TransportMessage?
    /// The bytes of that.
    var bytes = 0
    /// Its place in the order of the pipeline.
    var place: UInt64 = 0
    var attempts = 0
    /// Whether an attempt was made and has not ended.
    var isUnderWay = false
    /// Nil as long as it is on its way. The listener of the route waits for that, and `postAndWait` for the listener.
    var end: End?
    /// Kept until its listener has received its outcome. Used by the listener only.
    private var unheard: InFlight?

    init(
        _ message: any Sendable,
        to subject: String,
        charge: Charge,
        isReserved: Bool = false,
        _ unheard: InFlight
    ) {
        self.message = message
        self.subject = subject
        self.charge = charge
        self.isReserved = isReserved
        time = .now
        trace = TraceContext.current
        self.unheard = unheard
        unheard.begin()
    }

    deinit { isHeard() }

    /// Called when its listener has received its outcome, or never will because the lane refused the message
    /// after it was taken.
    func isHeard() {
        unheard?.end()
        unheard = nil
    }
}
