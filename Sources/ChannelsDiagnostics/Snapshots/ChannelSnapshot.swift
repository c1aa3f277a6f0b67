public import Channels

/// One channel and its listeners.
public struct ChannelSnapshot: Sendable {
    /// The channel's name, protocol or pattern, or its message type if it has none of these.
    public let name: String
    /// The kind of the channel.
    public let kind: ChannelKind
    /// The type of the messages or the state, or the types of requests and responses.
    public let messageType: String
    /// The number of messages posted, if counted.
    public let postCount: Int?
    /// The number of messages without a receiver: no listeners, or only paused or excluded ones.
    public let unreceivedCount: Int?
    /// The number of listeners ended by their owner's deallocation, if counted.
    public let deallocatedOwnerCount: Int?
    /// The time since counting began; nil if nothing is counted.
    package let countingTime: Duration?
    /// The posters, most frequent first, if traced.
    public let posters: [PosterSnapshot]
    /// The latest messages, oldest first, if kept.
    public let messages: [MessageSnapshot]
    /// The listeners in the order of delivery, interceptors first.
    public let listeners: [ListenerSnapshot]
}
