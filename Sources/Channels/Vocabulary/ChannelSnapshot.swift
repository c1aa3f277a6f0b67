/// One channel and its listeners.
public struct ChannelSnapshot: Sendable {
    /// The name, the protocol or the pattern; the type of the messages if there is no name.
    public let name: String
    /// The kind of the channel.
    public let kind: ChannelKind
    /// The type of the messages or of the state, or the types of requests and responses.
    public let messageType: String
    /// The number of messages posted, if they are counted.
    public let postCount: Int?
    /// The number of messages without a receiver: no listeners, or only paused or excluded ones.
    public let unreceivedCount: Int?
    /// The number of listeners that ended because their owner was deallocated, if they are counted.
    public let deallocatedOwnerCount: Int?
    /// The time since counting began; nil if nothing is counted.
    public let countingTime: Duration?
    /// The posters, most frequent first, if posts are traced.
    public let posters: [PosterSnapshot]
    /// The last messages, oldest first, if they are kept.
    public let messages: [MessageSnapshot]
    /// The listeners in the order of delivery, interceptors first.
    public let listeners: [ListenerSnapshot]
}
