public import Channels

extension Switchboard {
    /// Creates a switchboard that counts and records from the beginning.
    /// - Parameters:
    ///   - reentrancy: The default for its channels.
    ///   - onFault: Called for each fault. By default, faults are written to standard error.
    ///   - diagnostics: What to record in addition to what is always counted.
    public convenience init(
        reentrancy: Reentrancy = .nested(limit: 64),
        onFault: FaultHandler? = nil,
        diagnostics: Switchboard.Diagnostics
    ) {
        self.init(reentrancy: reentrancy, onFault: onFault)
        self.diagnostics = diagnostics
    }

    /// What this switchboard counts and records about its channels.
    ///
    /// It may be changed at any time, from any thread. Posts in progress are counted partially, earlier ones
    /// not at all. An open page of the inspector may record more.
    ///
    /// - Complexity: Setting it is O(*n*) in the number of channels and listeners. No lock is held meanwhile.
    public var diagnostics: Switchboard.Diagnostics {
        get { (instrument as? Observation)?.own ?? .off }
        set {
            observation.record(newValue, for: nil)
            applyDiagnostics()
        }
    }

    /// Records what a tool asks for, in addition to the program and other tools, until it asks for something
    /// else.
    /// - Parameter tool: Identifies the tool. It is not kept alive, and must ask for `.off` before it is
    ///   deallocated.
    /// - Complexity: O(*n*) in the number of channels and listeners. No lock is held meanwhile.
    package func record(_ diagnostics: Switchboard.Diagnostics, for tool: AnyObject) {
        observation.record(diagnostics, for: ObjectIdentifier(tool))
        applyDiagnostics()
    }

    private var observation: Observation {
        // A switchboard has no other kind of instrument.
        known(ensureInstrument { Observation(instruments) }, as: Observation.self)
    }

    private func applyDiagnostics() {
        let observation = observation
        forEachList { observation.apply(to: $0) }
        observation.forEachWatched { observation.apply(to: $0.list, named: $0.name) }
    }

    /// Shows an unnamed channel of any kind among those of this switchboard, and counts what ``diagnostics``
    /// ask for.
    ///
    /// ```swift
    /// board.watch(till.sold, as: "till.sold")
    /// ```
    ///
    /// The channel is held weakly, and shown until it is deallocated. Only one switchboard watches a channel
    /// at a time: the last on which this was called. Several channels may be watched under one name.
    public func watch(_ channel: some ListenerContainer & AnyObject & Sendable, as name: String) {
        let listeners = channel._listeners
        guard let list = listeners.list else { return }
        let watched = Observation.Watched(
            name: name,
            kind: list.kind,
            messageType: listeners.messageType,
            list: list,
            channel: channel
        )
        let observation = observation
        observation.watch(watched)
        observation.apply(to: list, named: name)
    }
}
