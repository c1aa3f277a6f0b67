internal import Synchronization

/// Is notified of everything that happens on a list while diagnostics are on. It counts, traces, and notifies the
/// instruments of a switchboard. Called without a lock. `Recorder` in `ChannelsDiagnostics` is the only implementation.
package protocol ListInstrument: AnyObject, Sendable {
    /// The name under which the channel is watched, if it has none of its own.
    var name: String? { get }
    /// The instruments of the switchboard that watches the channel.
    var instruments: Instruments? { get }

    /// Wraps the delivery of a post, a turn of a state, or a notification.
    /// - Parameter deliver: Called once. Returns how many listeners were reached.
    func post(_ frame: FrameReference, on list: ListenerList, _ deliver: () -> Int) -> Int

    /// Wraps a change of a state. Calls the body once, with a trace that travels with the value, if the value is
    /// traced.
    func traceState(
        on list: ListenerList,
        from senderType: (any Any.Type)?,
        _ origin: MessageOrigin,
        at site: PackedSite,
        _ body: ((any MessageTrace)?) -> Void
    )

    /// Called when a request is made. Returns a trace that travels with it, if it is traced.
    func traceRequest(
        _ type: any Any.Type,
        on list: ListenerList,
        at site: PackedSite
    ) -> (any MessageTrace)?

    /// Called when nobody received a post or a request.
    func noteUnreceived()

    /// Called when a message was put into a listener's mailbox, or was dropped.
    func didEnqueue(for listener: ListenerEntry)

    /// Called when a listener has ended because its owner was deallocated.
    func didLoseOwner()

    /// Called when a listener has thrown.
    func didThrow(_ listener: ListenerEntry)

    /// The counts of the channel as text: the rest of its line in a description, and perhaps further lines.
    var summary: String { get }

    /// The counts of a listener as text: the rest of its line in a description.
    func summary(of listener: ListenerEntry) -> String
}

/// Travels with a message that is traced.
package protocol MessageTrace: AnyObject, Sendable {
    /// Wraps a call of a synchronous listener.
    func deliver(to listener: ListenerEntry, _ call: () -> Void)

    /// Wraps a call of an async listener or a responder.
    func deliver(to listener: ListenerEntry, isolation: isolated (any Actor)?, _ call: () async -> Void) async

    /// Called when the reader of a sequence has taken the message.
    func noteRead(by listener: ListenerEntry)
}

extension ListenerList {
    /// Whether the list has an instrument and reports to it. Read by every post.
    @inline(__always)
    package var isObserved: Bool { observation.load(ordering: .acquiring) == Self.isOn }

    /// The instrument, while the list reports to it.
    package var activeInstrument: (any ListInstrument)? { isObserved ? instrument : nil }

    /// The instrument, if there ever was one.
    package var instrument: (any ListInstrument)? {
        // The instrument is written once, before this number.
        observation.load(ordering: .acquiring) == 0 ? nil : writtenInstrument
    }

    /// Sets the instrument, unless the list has one. Returns the list's instrument.
    package func setInstrument(_ made: any ListInstrument) -> any ListInstrument {
        withBareLock {
            guard observation.load(ordering: .relaxed) == 0 else { return writtenInstrument ?? made }
            writtenInstrument = made
            observation.store(Self.isOff, ordering: .releasing)
            return made
        }
    }

    /// Starts or stops reporting to the instrument. The instrument is kept, because a post that has found it may still
    /// use it.
    package func setObserved(_ isObserved: Bool) {
        observation.store(isObserved ? Self.isOn : Self.isOff, ordering: .releasing)
    }

    private static var isOff: UInt8 { 1 }
    private static var isOn: UInt8 { 2 }
}
