public import Channels

/// One poster on a channel.
public struct PosterSnapshot: Sendable {
    /// The type of the object passed as `from:`; nil if none was.
    public let senderType: String?
    /// The source location of the posts, if known.
    public let site: CallSite?
    /// The number of messages posted.
    public let postCount: Int
}
