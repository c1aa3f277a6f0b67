/// The options that all forms of `listen` share.
@usableFromInline
struct ListenerOptions {
    @usableFromInline let priority: Priority
    @usableFromInline let isOnce: Bool
    /// Nil if the source decides.
    @usableFromInline let buffering: BufferingPolicy?
    @usableFromInline let site: PackedSite

    @inlinable
    init(
        _ priority: Priority,
        once: Bool = false,
        buffering: BufferingPolicy? = nil,
        _ fileID: StaticString,
        _ line: UInt
    ) {
        self.init(priority, once: once, buffering: buffering, PackedSite(fileID, line))
    }

    @usableFromInline
    init(_ priority: Priority, once: Bool = false, buffering: BufferingPolicy? = nil, _ site: PackedSite) {
        self.priority = priority
        isOnce = once
        self.buffering = buffering
        self.site = site
    }
}
