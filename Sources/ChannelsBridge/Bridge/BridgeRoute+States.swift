public import Channels

extension BridgeRoute {
    /// Synchronises a named state with the broker: values set in this process are stored, and values stored
    /// by others are set in this process.
    ///
    /// When the bridge connects, the broker's value replaces the one in this process, so that a process that
    /// joins late receives the current value and then the changes. If the broker has none, the value of this
    /// process is stored. From then on, the last stored value wins in every process: if two processes set the
    /// state at the same time, each may briefly see its own value, and both end with the same one. Values
    /// that are soon replaced may be skipped.
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

    /// Stores the values of a named state at the broker, beginning with the current one.
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

    private static func state<State: Codable & Sendable>(
        _ name: StateName<State>,
        _ initial: State,
        _ type: String?,
        sends: Bool,
        receives: Bool
    ) -> BridgeRoute {
        BridgeRoute(.other) { context, _, options in
            let format = context.format(type ?? "\(State.self)", options)
            let channel = context.switchboard.state(name, initial: initial)
            return StateWorker(name.text, channel, format, sends: sends, receives: receives, context)
        }
    }
}
