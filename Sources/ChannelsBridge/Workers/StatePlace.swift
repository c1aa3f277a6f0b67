internal import Channels

/// Where a ``StateWorker`` finds the state that it synchronizes.
struct StatePlace<State: Codable & Sendable>: Sendable {
    /// Whether it is the same state for as long as the bridge exists.
    let isOne: Bool
    /// The state, if there is one.
    let find: @Sendable () -> StateChannel<State>?
    /// The state, created with a first value if there is none.
    let make: @Sendable (State) throws(BridgeError) -> StateChannel<State>

    init(_ channel: StateChannel<State>) {
        (isOne, find, make) = (true, { channel }, { _ in channel })
    }

    /// The state that has a name in a switchboard at the time of each call.
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
