#if NATS
/// The deliveries of a consumer that have come here one after the other, so that nobody else was given any meanwhile:
/// the server numbers them.
///
/// After the connection was lost it tells what may have been lost with it: no more than this process had asked for, of
/// what was delivered since.
struct DeliveryRun {
    /// All that was delivered before this one and is not settled may be with others.
    private var first: UInt64 = 0
    private var next: UInt64 = 1
    /// The highest sequence in the stream that is known to have been delivered.
    private(set) var lastSequence: UInt64 = 0
    /// What has come since the connection was lost, and how much was asked for then.
    private var loss: (came: Set<UInt64>, askedFor: Int)?

    /// - Parameter sequence: That of the message in the stream.
    mutating func received(_ number: UInt64, sequence: UInt64 = 0) {
        lastSequence = max(lastSequence, sequence)
        guard loss == nil else {
            loss?.came.insert(number)
            return
        }
        if number != next { first = number }
        next = number + 1
    }

    /// What a server says of the consumer names the last delivery, also where that was an older message once more.
    ///
    /// - Parameter before: ``lastSequence`` before the server was asked.
    mutating func complete(_ state: inout ConsumerState, knownBefore before: UInt64) {
        // It has been created again.
        if state.lastDelivery + 1 < next { lastSequence = 0 } else { state.lastKnown = before }
        lastSequence = max(lastSequence, state.lastDelivered)
    }

    /// The connection was lost, before anything comes on the next one.
    mutating func lost(askedFor count: Int) {
        if loss == nil { loss = ([], count) }
    }

    /// How many deliveries have not come here.
    ///
    /// - Parameter last: The number of the last one.
    func missed(upTo last: UInt64) -> Int {
        guard last >= next else { return 0 }
        return Int(clamping: last - next + 1) - (loss?.came.count { $0 >= next && $0 <= last } ?? 0)
    }

    /// Whether those can only have been on their way here, and nobody else had a message before.
    func wasAlone(in state: ConsumerState) -> Bool {
        state.lastSettledDelivery + 1 >= first && missed(upTo: state.lastDelivery) <= loss?.askedFor ?? 0
    }

    /// Nobody else has anything of what was delivered, up to a delivery.
    mutating func markAlone(upTo last: UInt64) {
        (first, next, loss) = (0, max(next, last + 1, (loss?.came.max() ?? 0) + 1), nil)
    }

    /// Others may have what was delivered, up to a delivery.
    mutating func markShared(upTo last: UInt64) {
        next = max(last, loss?.came.max() ?? 0) + 1
        (first, loss) = (next, nil)
    }

    /// What was lost, if anything, can only have been on its way here.
    mutating func goOn() {
        next = max(next, (loss?.came.max() ?? 0) + 1)
        loss = nil
    }
}
#endif
