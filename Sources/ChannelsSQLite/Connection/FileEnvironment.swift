#if SQLite
internal import ChannelsBridge

/// What a connection uses apart from its file, so that a simulation can replace it.
struct FileEnvironment: Sendable {
    var now: @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
    /// The seconds since 1970 by the wall clock. They are shown to people, and limit the age of stored
    /// messages.
    var wallClock: @Sendable () -> Double = { Timestamp.now.secondsSince1970 }
    /// Called before reading without a commit, which fails if this throws.
    var willRead: @Sendable () throws -> Void = {}
    /// Called before a commit, which fails if this throws.
    var willCommit: @Sendable () throws -> Void = {}
}
#endif
