internal import Synchronization

/// What is told of everything that happens on a list, while somebody looks: it counts, traces and passes on to the
/// instruments of a switchboard. `Recorder` is the one that there is. Called without a lock.
protocol ListInstrument: AnyObject, Sendable {
    /// The name under which the channel is watched, if it has none of its own.
    var name: String? { get }
    /// Those of the switchboard that watches the channel.
    var instruments: Instruments? { get }

    /// Surrounds the delivery of a post, a turn of a state or a notification. Makes the frame check every listener.
    /// - Parameter deliver: Called once. Returns how many listeners were reached.
    func post(_ frame: FrameReference, on list: ListenerList, _ deliver: () -> Int) -> Int

    /// A message waits in the mailbox of a listener, or was dropped.
    func didEnqueue(for listener: ListenerEntry)

    /// A listener has ended because its owner was deallocated.
    func didLoseOwner()

    /// A call of a listener has failed.
    func didThrow(_ listener: ListenerEntry)
}

/// What travels with a message that is traced.
protocol MessageTrace: AnyObject, Sendable {
    /// Surrounds a call of a synchronous listener.
    func deliver(to listener: ListenerEntry, _ call: () -> Void)

    /// Surrounds a call of an async listener or a responder.
    func deliver(to listener: ListenerEntry, isolation: isolated (any Actor)?, _ call: () async -> Void) async

    /// The reader of a sequence has taken the message.
    func noteRead(by listener: ListenerEntry)
}

extension ListenerList {
    /// Whether the list has an instrument and tells it. Every post looks.
    var isObserved: Bool { observation.load(ordering: .acquiring) == Self.isOn }

    /// The instrument, while the list tells it.
    var activeInstrument: (any ListInstrument)? { isObserved ? instrument : nil }

    /// The instrument, if there ever was one.
    var instrument: (any ListInstrument)? {
        // Written once, before this number.
        observation.load(ordering: .acquiring) == 0 ? nil : writtenInstrument
    }

    /// Sets the instrument, unless there is one, and returns the one that there is then.
    func setInstrument(_ made: any ListInstrument) -> any ListInstrument {
        withBareLock {
            guard observation.load(ordering: .relaxed) == 0 else { return writtenInstrument ?? made }
            writtenInstrument = made
            observation.store(Self.isOff, ordering: .releasing)
            return made
        }
    }

    /// Begins or ends telling the instrument. It is kept, because a post that has found it may use it.
    func setObserved(_ isObserved: Bool) {
        observation.store(isObserved ? Self.isOn : Self.isOff, ordering: .releasing)
    }

    private static var isOff: UInt8 { 1 }
    private static var isOn: UInt8 { 2 }
}
