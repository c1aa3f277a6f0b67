/// One poster on a channel.
public struct PosterSnapshot: Sendable {
    /// The type of the object given as `from:`; nil without one.
    public let senderType: String?
    /// The source location of the posts, if known.
    public let site: CallSite?
    /// The number of messages posted.
    public let postCount: Int
}

extension PosterSnapshot {
    /// One line: type, posts, place.
    var line: String {
        "from \(senderType ?? "no one named"), \(counted(postCount, "post"))\(site.map { ", \($0)" } ?? "")"
    }
}
