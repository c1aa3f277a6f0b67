/// One channel and its listeners.
public struct ChannelSnapshot: Codable, Hashable, Sendable {
    /// The name, the protocol or the pattern; of a channel without a name, the type of its messages.
    public var name: String
    /// What it stands for.
    public var kind: ChannelKind
    /// The type of the messages, of the state, or of requests and responses.
    public var messageType: String
    /// Messages posted, where they are counted.
    public var posts: Int?
    /// In the order of delivery, interceptors first.
    public var listeners: [ListenerSnapshot]
}
