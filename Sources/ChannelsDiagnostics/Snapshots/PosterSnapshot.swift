public import Channels

/// One poster on a channel.
public struct PosterSnapshot: Sendable {
    /// The type of the object given as `from:`; nil without one.
    public let senderType: String?
    /// The source location of the posts, if known.
    public let site: CallSite?
    /// The number of messages posted.
    public let postCount: Int
}
