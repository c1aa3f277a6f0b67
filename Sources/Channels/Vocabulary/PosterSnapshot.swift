/// Who posts on a channel.
public struct PosterSnapshot: Codable, Hashable, Sendable {
    /// The type of the object given as `from:`; nil without one.
    public var senderType: String?
    /// Where the post is written, where that is known.
    public var site: RegistrationSite?
    /// Messages posted.
    public var posts: Int
}

extension PosterSnapshot: CustomStringConvertible {
    /// One line: type, posts, place.
    public var description: String {
        "from \(senderType ?? "no one named"), \(posts) \(posts == 1 ? "post" : "posts")\(site.map { ", \($0)" } ?? "")"
    }
}
