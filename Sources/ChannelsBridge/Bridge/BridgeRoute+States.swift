public import Channels

extension BridgeRoute {
    /// Synchronizes a named state with the broker: values set in this process are stored, and values stored
    /// by others are set in this process.
    ///
    /// When the bridge connects, the broker's value replaces the one in this process, so that a process that
    /// joins late receives the current value and then the changes. If the broker has none, the value of this
    /// process is stored. If that is only the initial value, which nobody has set, a value that another process
    /// set before its bridge ran replaces it. From then on, the last stored value wins in every process: if two
    /// processes set the state at the same time, each may briefly see its own value, but both end with the same
    /// one. Values that are soon replaced may be skipped.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - initial: The first value, if the switchboard has no state of that name.
    ///   - type: The name of the type in the envelope; by default the name of `State`.
    public static func both<State: Codable & Sendable>(
        state name: StateName<State>,
        initial: State,
        type: String? = nil
    ) -> BridgeRoute {
        state(name, initial, type, sends: true, receives: true)
    }

    /// Stores the values of a named state at the broker, beginning with the current one, even if that is only the
    /// initial value.
    ///
    /// Values stored by other processes are ignored.
    public static func outgoing<State: Codable & Sendable>(
        state name: StateName<State>,
        initial: State,
        type: String? = nil
    ) -> BridgeRoute {
        state(name, initial, type, sends: true, receives: false)
    }

    /// Sets a named state to the values that other processes store at the broker, beginning with the current
    /// one.
    ///
    /// Values set in this process are not stored.
    public static func incoming<State: Codable & Sendable>(
        state name: StateName<State>,
        initial: State,
        type: String? = nil
    ) -> BridgeRoute {
        state(name, initial, type, sends: false, receives: true)
    }

    /// Synchronizes every named state of a type whose name matches a pattern, like
    /// ``both(state:initial:type:)``.
    ///
    /// A value that another process has stored is set in this one. If the switchboard has no state of that
    /// name, the state is created with that value, and a listener to `board[matching: pattern]` receives it.
    /// A state of this process is stored once it has been set, even if it is created while the bridge runs. A
    /// removed state is no longer stored, but its value stays at the broker, and the next value of another
    /// process creates the state again.
    ///
    /// Let each process set a state of its own, such as `presence.kitchen` and `presence.till`.
    ///
    /// A value for a name that this process uses for another type, or for messages, is refused with a fault
    /// (``BridgeError/Code/unknownType``). A route accepts at most 16,384 names from other processes. Values
    /// of further names are dropped, each with a fault (``BridgeError/Code/bufferFull``). Each name takes up
    /// about a kilobyte until the bridge ends.
    ///
    /// - Parameters:
    ///   - pattern: The pattern of the names.
    ///   - state: The type of the states. States of other types are left alone.
    ///   - type: The name of the type in the envelope; by default the name of `State`.
    public static func both<State: Codable & Sendable>(
        statesMatching pattern: ChannelPattern,
        of state: State.Type,
        type: String? = nil
    ) -> BridgeRoute {
        states(pattern, state, type, (sends: true, receives: true))
    }

    /// Stores the values set in this process on every named state of a type whose name matches a pattern,
    /// including states created while the bridge runs.
    ///
    /// Values stored by other processes are ignored. A state that was removed is no longer stored; its value at
    /// the broker stays.
    public static func outgoing<State: Codable & Sendable>(
        statesMatching pattern: ChannelPattern,
        of state: State.Type,
        type: String? = nil
    ) -> BridgeRoute {
        states(pattern, state, type, (sends: true, receives: false))
    }

    /// Sets named states to the values that other processes store on names that match a pattern, beginning
    /// with the current ones, and creates the states that are missing.
    ///
    /// Values set in this process are not stored. ``both(statesMatching:of:type:)`` says what happens to
    /// names in use for another type, and how many names a route accepts.
    public static func incoming<State: Codable & Sendable>(
        statesMatching pattern: ChannelPattern,
        of state: State.Type,
        type: String? = nil
    ) -> BridgeRoute {
        states(pattern, state, type, (sends: false, receives: true))
    }

    private static func state<State: Codable & Sendable>(
        _ name: StateName<State>,
        _ initial: State,
        _ type: String?,
        sends: Bool,
        receives: Bool
    ) -> BridgeRoute {
        BridgeRoute(.state, pattern(named: name.text), ways: (sends, receives)) { context, earlier, options in
            let format = context.format(type ?? "\(State.self)", options)
            let channel = context.switchboard.state(name, initial: initial)
            let ways = earlier.left(of: (sends, receives), and: options.later, for: name.text)
            return StateWorker(name.text, StatePlace(channel), format, ways, context)
        }
    }

    private static func states<State: Codable & Sendable>(
        _ pattern: ChannelPattern,
        _: State.Type,
        _ type: String?,
        _ ways: StateWays
    ) -> BridgeRoute {
        BridgeRoute(.state, pattern, ways: ways) { context, earlier, options in
            let format = context.format(type ?? "\(State.self)", options)
            return MatchingStatesWorker<State>(
                pattern,
                format,
                ways,
                shadowedBy: earlier,
                before: options.later,
                context
            )
        }
    }
}

extension [BridgeRoute.Part] {
    /// The directions in which a state route carries a name. The first route that matches carries it in all directions
    /// that the bridge has for it, so that both share one order of values; the others do not carry it.
    func left(of ways: BridgeRoute.StateWays, and later: Self, for name: String) -> BridgeRoute.StateWays {
        let carrying = { (parts: Self) in parts.filter { $0.pattern?.matches(name) ?? false }.compactMap(\.ways) }
        guard carrying(self).isEmpty else { return (false, false) }
        let all = carrying(later) + [ways]
        return (all.contains(where: \.sends), all.contains(where: \.receives))
    }
}
