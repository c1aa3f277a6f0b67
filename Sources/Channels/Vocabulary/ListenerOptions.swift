/// The options that all forms of `listen` share.
@usableFromInline
struct ListenerOptions {
    @usableFromInline let priority: ListenerPriority
    @usableFromInline let isOnce: Bool
    @usableFromInline let buffering: BufferingPolicy
    @usableFromInline let site: PackedSite

    @inlinable
    init(
        _ priority: ListenerPriority,
        once: Bool = false,
        buffering: BufferingPolicy = .automatic,
        _ fileID: StaticString,
        _ line: UInt
    ) {
        self.init(priority, once: once, buffering: buffering, PackedSite(fileID, line))
    }

    @usableFromInline
    init(_ priority: ListenerPriority, once: Bool = false, buffering: BufferingPolicy = .automatic, _ site: PackedSite)
    {
        self.priority = priority
        isOnce = once
        self.buffering = buffering
        self.site = site
    }
}
