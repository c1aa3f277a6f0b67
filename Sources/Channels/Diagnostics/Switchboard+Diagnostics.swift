extension Switchboard {
    /// What is counted and recorded of the channels of this switchboard.
    ///
    /// May be changed at any time, beside any number of posts: one that is under way is counted in part. What
    /// was posted while nothing was counted is in no count. A page of the inspector may record more while it is open;
    /// this is what the program asks for.
    ///
    /// - Complexity: Setting it is O(*n*) in the number of channels and listeners. No lock is held meanwhile.
    public var diagnostics: Diagnostics {
        get { observation.own }
        set {
            observation.record(newValue, for: nil)
            applyDiagnostics()
        }
    }

    /// Records what a tool asks for beside the program and other tools, until it asks for something else.
    ///
    /// - Parameter tool: Tells tools apart. Not kept alive: before it goes, it asks for nothing.
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

    /// Adds an instrument. See ``ChannelInstrument``.
    ///
    /// - Returns: The token: keep it, because the instrument is used as long as the token lives.
    public func add(_ instrument: some ChannelInstrument) -> InstrumentToken {
        InstrumentToken(observation.instruments, observation.instruments.add(instrument))
    }

    /// Shows a channel that has no name among those of this switchboard, and counts of it what
    /// ``diagnostics`` say.
    ///
    /// ```swift
    /// board.watch(till.sold, as: "till.sold")
    /// ```
    ///
    /// The channel is held weakly, and shown until it is deallocated. A channel is watched by one
    /// switchboard: the one that was told last. Several may be watched under one name.
    public func watch<Message: Sendable>(_ channel: Channel<Message>, as name: String) {
        watch(channel, channel.list, "\(Message.self)", name)
    }

    /// Shows a state that has no name.
    public func watch<State: Sendable>(_ state: StateChannel<State>, as name: String) {
        watch(state, state.list, "\(State.self)", name)
    }

    /// Shows a request channel that has no name.
    public func watch<Request: Sendable, Response: Sendable>(
        _ requests: RequestChannel<Request, Response>,
        as name: String
    ) {
        watch(requests, requests.list, "\(Request.self) -> \(Response.self)", name)
    }

    /// Shows a protocol channel that is not of this switchboard.
    public func watch<Observer: Sendable>(_ channel: ProtocolChannel<Observer>, as name: String) {
        watch(channel, channel.list, "\(Observer.self)", name)
    }

    private func watch(_ channel: AnyObject, _ list: ListenerList, _ messageType: String, _ name: String) {
        let watched = Observation.Watched(
            name: name,
            kind: list.kind,
            messageType: messageType,
            list: list,
            channel: channel
        )
        observation.watch(watched)
        observation.apply(to: list, named: name)
    }
}

/// The handle of one instrument of a switchboard: it is used as long as this lives, or until ``cancel()``.
public final class InstrumentToken: Sendable {
    private let instruments: Instruments
    private let id: Int

    init(_ instruments: Instruments, _ id: Int) {
        self.instruments = instruments
        self.id = id
    }

    deinit { cancel() }

    /// Removes the instrument. Idempotent.
    ///
    /// Posts made before go on to use it for their listeners.
    public func cancel() { instruments.remove(id) }
}
