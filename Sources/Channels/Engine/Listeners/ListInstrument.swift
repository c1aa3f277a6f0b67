internal import Synchronization

/// What is told of everything that happens on a list, while somebody looks: it counts, traces and passes on to the
/// instruments of a switchboard. `Recorder` of `ChannelsDiagnostics` is the one that there is. Called without a lock.
package protocol ListInstrument: AnyObject, Sendable {
    /// The name under which the channel is watched, if it has none of its own.
    var name: String? { get }
    /// Those of the switchboard that watches the channel.
    var instruments: Instruments? { get }

    /// Surrounds the delivery of a post, a turn of a state or a notification.
    /// - Parameter deliver: Called once. Returns how many listeners were reached.
    func post(_ frame: FrameReference, on list: ListenerList, _ deliver: () -> Int) -> Int

    /// Surrounds a change of a state. Calls the body once, with what travels with the value, if it is traced.
    func traceState(
        on list: ListenerList,
        from senderType: (any Any.Type)?,
        _ origin: MessageOrigin,
        at site: PackedSite,
        _ body: ((any MessageTrace)?) -> Void
    )

    /// A request is made. Returns what travels with it, if it is traced.
    func traceRequest(
        _ type: any Any.Type,
        on list: ListenerList,
        at site: PackedSite
    ) -> (any MessageTrace)?

    /// Nobody received a post or a request.
    func noteUnreceived()

    /// A message waits in the mailbox of a listener, or was dropped.
    func didEnqueue(for listener: ListenerEntry)

    /// A listener has ended because its owner was deallocated.
    func didLoseOwner()

    /// A call of a listener has failed.
    func didThrow(_ listener: ListenerEntry)

    /// What it has counted, as text: the rest of the channel's line, and lines of its own.
    var summary: String { get }

    /// What it has counted of a listener, as text: the rest of its line.
    func summary(of listener: ListenerEntry) -> String
}

/// What travels with a message that is traced.
package protocol MessageTrace: AnyObject, Sendable {
    /// Surrounds a call of a synchronous listener.
    func deliver(to listener: ListenerEntry, _ call: () -> Void)

    /// Surrounds a call of an async listener or a responder.
    func deliver(to listener: ListenerEntry, isolation: isolated (any Actor)?, _ call: () async -> Void) async

    /// The reader of a sequence has taken the message.
    func noteRead(by listener: ListenerEntry)
}

extension ListenerList {
    /// Whether the list has an instrument and tells it. Every post looks.
    @inline(__always)
    package var isObserved: Bool { observation.load(ordering: .acquiring) == Self.isOn }

    /// The instrument, while the list tells it.
    package var activeInstrument: (any ListInstrument)? { isObserved ? instrument : nil }

    /// The instrument, if there ever was one.
    package var instrument: (any ListInstrument)? {
        // Written once, before this number.
        observation.load(ordering: .acquiring) == 0 ? nil : writtenInstrument
    }

    /// Sets the instrument, unless there is one, and returns the one that there is then.
    package func setInstrument(_ made: any ListInstrument) -> any ListInstrument {
        withBareLock {
            guard observation.load(ordering: .relaxed) == 0 else { return writtenInstrument ?? made }
            writtenInstrument = made
            observation.store(Self.isOff, ordering: .releasing)
            return made
        }
    }

    /// Begins or ends telling the instrument. It is kept, because a post that has found it may use it.
    package func setObserved(_ isObserved: Bool) {
        observation.store(isObserved ? Self.isOn : Self.isOff, ordering: .releasing)
    }

    private static var isOff: UInt8 { 1 }
    private static var isOn: UInt8 { 2 }
}
