internal import Synchronization

/// What is told of the channels of a switchboard once somebody has looked. `Observation` of `ChannelsDiagnostics` is
/// the one that there is. Called without a lock.
package protocol SwitchboardInstrument: AnyObject, Sendable {
    /// The list of a channel, a protocol or a pattern is on the switchboard, or is about to be.
    func apply(to list: ListenerList)

    /// Nobody received a post to a name that has no channel.
    func noteUnreceived(_ name: @autoclosure () -> String, _ type: any Any.Type)

    /// The posts to each name that has no channel.
    var unreceived: [(name: String, type: any Any.Type, posts: Int)] { get }

    /// The channels that are shown beside those of the switchboard.
    var watched: [ShownChannel] { get }
}

/// The place of the instrument. `instrument` is guarded by its mutex and written once, before `isSet`.
final class InstrumentSlot: Sendable {
    private let isSet = Atomic<Bool>(false)
    private let guarded = Locked<(any SwitchboardInstrument)?>(nil)

    var instrument: (any SwitchboardInstrument)? {
        isSet.load(ordering: .acquiring) ? guarded.withLock { $0 } : nil
    }

    func ensure(_ make: () -> any SwitchboardInstrument) -> any SwitchboardInstrument {
        guarded.withLock { instrument in
            let made = instrument ?? make()
            instrument = made
            isSet.store(true, ordering: .releasing)
            return made
        }
    }
}

extension Switchboard {
    /// The instrument, if there ever was one.
    package var instrument: (any SwitchboardInstrument)? { observer.instrument }

    /// The instrument, made if there is none.
    package func ensureInstrument(_ make: () -> any SwitchboardInstrument) -> any SwitchboardInstrument {
        observer.ensure(make)
    }

    /// Adds an instrument.
    /// - Returns: The token. Keep it: the instrument is used while it lives.
    public func addInstrument(_ instrument: some ChannelInstrument) -> InstrumentToken {
        InstrumentToken(instruments, instruments.add(instrument))
    }
}

/// The handle of an instrument, which is used until this is released or ``cancel()`` is called.
public final class InstrumentToken: Sendable {
    private let instruments: Instruments
    private let id: Int

    init(_ instruments: Instruments, _ id: Int) {
        self.instruments = instruments
        self.id = id
    }

    deinit { cancel() }

    /// Removes the instrument. Idempotent. Posts already made still use it for their listeners.
    public func cancel() { instruments.remove(id) }

    /// Stores the token in a collection whose instruments are removed together.
    public func store(in tokens: inout some RangeReplaceableCollection<InstrumentToken>) { tokens.append(self) }
}
