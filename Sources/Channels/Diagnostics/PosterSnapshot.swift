/// Who posts on a channel.
public struct PosterSnapshot: Codable, Hashable, Sendable {
    /// The type of the object given as `from:`; nil without one.
    public var senderType: String?
    /// Where the post is written, where that is known.
    public var site: RegistrationSite?
    /// Messages posted.
    public var posts: Int
}
