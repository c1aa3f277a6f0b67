public import Channels

extension BridgeRoute {
    /// Keeps a named state the same here and at the broker: values set here are stored, and the values that
    /// others store are set here.
    ///
    /// When the bridge is connected, the value at the broker, if there is one, replaces the one here; so a
    /// process that joins late has the current state and then the changes. Where there is none, the value
    /// here is stored. After that the last value stored wins, everywhere: of values set in two processes at
    /// the same time, each process may see its own first and both end with the same. Values that are soon
    /// replaced may be left out.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - initial: The first value, where the switchboard has no state of the name.
    ///   - type: What the type is called on the way; its own name if nil.
    public static func both<State: Codable & Sendable>(
        state name: StateName<State>,
        initial: State,
        type: String? = nil
    ) -> BridgeRoute {
        state(name, initial, type, sends: true, receives: true)
    }

    /// Stores the values of a named state at the broker, from the current one on, whatever others store. See
    /// ``both(state:initial:type:)``.
    public static func outgoing<State: Codable & Sendable>(
        state name: StateName<State>,
        initial: State,
        type: String? = nil
    ) -> BridgeRoute {
        state(name, initial, type, sends: true, receives: false)
    }

    /// Sets a named state to what others store at the broker: the current value first. What is set here stays
    /// here. See ``both(state:initial:type:)``.
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
        BridgeRoute(parts: [
            Part(kind: .other, pattern: nil) { context, _ in
                StateWorker(
                    name,
                    initial: initial,
                    typeName: type ?? "\(State.self)",
                    sends: sends,
                    receives: receives,
                    context: context
                )
            }
        ])
    }
}
