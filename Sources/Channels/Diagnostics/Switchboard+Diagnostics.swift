extension Switchboard {
    /// The counts and records that the program keeps of this switchboard's channels.
    ///
    /// It may be changed at any time, from any thread. Posts under way are counted in part, earlier ones not
    /// at all. An open page of the inspector may record more.
    ///
    /// - Complexity: Setting it is O(*n*) in the number of channels and listeners. No lock is held meanwhile.
    public var diagnostics: Diagnostics {
        get { observation.own }
        set {
            observation.record(newValue, for: nil)
            applyDiagnostics()
        }
    }

    /// Records what a tool asks for, beside the program and other tools, until it asks for something else.
    /// - Parameter tool: Tells tools apart. Not kept alive: it asks for `.off` before it is deallocated.
    /// - Complexity: O(*n*) in the number of channels and listeners. No lock is held meanwhile.
    package func record(_ diagnostics: Diagnostics, for tool: AnyObject) {
        observation.record(diagnostics, for: ObjectIdentifier(tool))
        applyDiagnostics()
    }

    private func applyDiagnostics() {
        for (slot, _) in registry.channels { observation.apply(to: slot.list) }
        for channel in protocols.all { observation.apply(to: channel.list) }
        for listener in patterns.all { observation.apply(to: listener.hub) }
        observation.forEachWatched { observation.apply(to: $0.list, named: $0.name) }
    }

    /// Adds an instrument.
    /// - Returns: The token. Keep it: the instrument is used while it lives.
    public func add(_ instrument: some ChannelInstrument) -> InstrumentToken {
        InstrumentToken(observation.instruments, observation.instruments.add(instrument))
    }

    /// Shows an unnamed channel, of any kind, among this switchboard's, counting what ``diagnostics`` ask
    /// for.
    ///
    /// ```swift
    /// board.watch(till.sold, as: "till.sold")
    /// ```
    ///
    /// The channel is held weakly, and shown until it is deallocated. One switchboard watches it: the one
    /// called last. Several channels may be watched under one name.
    public func watch(_ channel: some ListenerContainer & AnyObject & Sendable, as name: String) {
        let listeners = channel._listeners
        guard let list = listeners.list else { return }
        let watched = Observation.Watched(
            name: name,
            kind: list.kind,
            messageType: listeners.content.types,
            list: list,
            channel: channel
        )
        observation.watch(watched)
        observation.apply(to: list, named: name)
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

    /// Removes the instrument. Idempotent. Posts made before still use it for their listeners.
    public func cancel() { instruments.remove(id) }
}
