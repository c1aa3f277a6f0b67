/// One channel and its listeners.
public struct ChannelSnapshot: Sendable {
    /// The name, the protocol or the pattern; of a channel without a name, the type of its messages.
    public let name: String
    /// What it stands for.
    public let kind: ChannelKind
    /// The type of the messages, of the state, or of requests and responses.
    public let messageType: String
    /// Messages posted, where they are counted.
    public let posts: Int?
    /// Messages posted that reached nobody: there was no listener, or each was paused, or left out by `echo: false`.
    public let unheard: Int?
    /// Listeners that ended because their owner was deallocated, where they are counted.
    public let lostOwners: Int?
    /// For how long messages have been counted, in nanoseconds; nil where they are not.
    public let countedNanoseconds: Int?
    /// Who posts, where it is traced: those who post most come first.
    public let posters: [PosterSnapshot]
    /// The last messages, where they are kept: the oldest comes first.
    public let messages: [MessageSnapshot]
    /// In the order of delivery, interceptors first.
    public let listeners: [ListenerSnapshot]
}
