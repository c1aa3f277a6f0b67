internal import Synchronization

/// Is notified of the channels of a switchboard once its diagnostics have been used. Called without a lock.
/// `Observation` in `ChannelsDiagnostics` is the only implementation.
package protocol SwitchboardInstrument: AnyObject, Sendable {
    /// Called when the list of a channel, protocol or pattern is on the switchboard or about to be.
    func apply(to list: ListenerList)

    /// Called when nobody received a post to a name that has no channel.
    func noteUnreceived(_ name: @autoclosure () -> String, _ type: any Any.Type)

    /// The number of posts to each name that has no channel.
    var unreceived: [(name: String, type: any Any.Type, posts: Int)] { get }

    /// The channels that are shown in addition to those of the switchboard.
    var watched: [ShownChannel] { get }
}

/// Holds the instrument. `instrument` is guarded by its mutex, and written once, before `isSet`.
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

    /// Adds an instrument, which is used as long as the token lives.
    /// - Returns: The token. Keep it: the instrument is removed when the token is released.
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

    /// Removes the instrument. Calling it again does nothing. Posts already made still use it for their
    /// listeners.
    public func cancel() { instruments.remove(id) }

    /// Stores the token in a collection, for instruments that should be removed together.
    public func store(in tokens: inout some RangeReplaceableCollection<InstrumentToken>) { tokens.append(self) }
}
