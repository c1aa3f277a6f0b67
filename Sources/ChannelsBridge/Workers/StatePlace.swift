internal import Channels

/// Where the values of a ``StateWorker`` are.
struct StatePlace<State: Codable & Sendable>: Sendable {
    /// Whether it is one state for as long as the bridge lives.
    let isOne: Bool
    /// The state, if there is one.
    let find: @Sendable () -> StateChannel<State>?
    /// The state, made with a first value if there is none.
    let make: @Sendable (State) throws(BridgeError) -> StateChannel<State>

    init(_ channel: StateChannel<State>) {
        (isOne, find, make) = (true, { channel }, { _ in channel })
    }

    /// The state that has a name in a switchboard at the time.
    init(_ name: String, _ switchboard: Switchboard) {
        isOne = false
        find = { switchboard.state(ifMade: name, of: State.self) }
        make = { first throws(BridgeError) in
            do { return try switchboard.state(name, of: State.self, initial: first) } catch {
                throw BridgeError(.unknownType, subject: name, underlyingError: error)
            }
        }
    }
}
