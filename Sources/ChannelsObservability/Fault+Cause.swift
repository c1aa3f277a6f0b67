#if Observability
internal import Channels
internal import ChannelsBridge

extension Fault {
    /// The code of the fault; for a fault of a bridge, the code of its error, because each kind of error needs a
    /// different reaction.
    var cause: String {
        guard code == .bridgeFailed, let error = underlyingError as? BridgeError else { return "\(code)" }
        return "\(error.code)"
    }
}
#endif
