/// A kind of channel, as faults and snapshots name it.
///
/// Kinds may be added in minor releases: keep a `default` when matching.
public struct ChannelKind: Hashable, Sendable {
    private enum Storage: String { case messages, local, state, requests, `protocol`, pattern, bridge }

    private let storage: Storage

    /// A ``Channel``.
    public static let messages = ChannelKind(storage: .messages)
    /// A ``LocalChannel``.
    public static let local = ChannelKind(storage: .local)
    /// A ``StateChannel``.
    public static let state = ChannelKind(storage: .state)
    /// A ``RequestChannel``.
    public static let requests = ChannelKind(storage: .requests)
    /// A ``ProtocolChannel``.
    public static let `protocol` = ChannelKind(storage: .protocol)
    /// A listener to the channels that match a pattern.
    public static let pattern = ChannelKind(storage: .pattern)
    /// A bridge to other processes. Its faults name a subject, or the bridge itself.
    public static let bridge = ChannelKind(storage: .bridge)
}

extension ChannelKind: CustomStringConvertible {
    /// The name of the constant: `state`.
    public var description: String { storage.rawValue }

    /// The noun before a channel's name in a line of text: `state shop.sales`.
    var noun: String {
        switch storage {
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
