internal import Channels

/// A posted message to be published, with the context of its post.
final class Departure: @unchecked Sendable {  // the comments on its variables say what guards each
    /// The outcome of a message. The error is nil if it was sent.
    typealias End = (error: BridgeError?, isReported: Bool)

    let message: any Sendable
    let subject: String
    let time: Timestamp
    let trace: TraceContext?
    /// The charge for its place in the bridge.
    let charge: Charge
    /// Whether a place was reserved for it, which it keeps no matter how many bytes it turns out to have.
    let isReserved: Bool

    // The variables from here to `end` are for durable messages. While a message is being encoded, only the
    // encoding task uses them; otherwise they are guarded by the sender's lock.

    /// The message for the transport. It does not change from when it is encoded until the message has ended.
    var packed: TransportMessage?
    /// The size of `packed`.
    var bytes = 0
    /// Its position in the order of the pipeline.
    var place: UInt64 = 0
    var attempts = 0
    /// Whether an attempt is in progress.
    var isUnderWay = false
    /// The outcome; nil until there is one. The listener of the route waits for it, and `postAndWait` waits
    /// for the listener.
    var end: End?
    /// Counts the message until its listener has received the outcome. Only the listener uses it, and deinit.
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
