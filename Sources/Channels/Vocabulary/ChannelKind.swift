/// A kind of channel, as faults and snapshots name it.
public enum ChannelKind: String, Sendable {
    /// A ``Channel``.
    case messages
    /// A ``LocalChannel``.
    case local
    /// A ``StateChannel``.
    case state
    /// A ``RequestChannel``.
    case requests
    /// A ``ProtocolChannel``.
    case `protocol`
    /// A listener to the channels that match a pattern.
    case pattern
    /// A bridge to other processes. Its faults name a subject, or the bridge itself.
    case bridge
}

extension ChannelKind {
    /// The noun before a channel's name in a line of text: `state shop.sales`.
    var noun: String {
        switch self {
        case .messages: "channel"
        case .local: "local channel"
        case .state: "state"
        case .requests: "request channel"
        case .protocol: "protocol"
        case .pattern: "pattern"
        case .bridge: "bridge"
        }
    }
}
