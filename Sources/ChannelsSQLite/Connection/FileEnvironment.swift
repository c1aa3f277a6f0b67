#if SQLite
internal import ChannelsBridge

/// What a connection takes from the world apart from its file, so that a simulation can be that world.
struct FileEnvironment: Sendable {
    var now: @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
    /// The seconds since 1970 by the wall clock. They inform people, and limit the age of what is kept.
    var wallClock: @Sendable () -> Double = { Timestamp.now.secondsSince1970 }
    /// Called before something is read without a commit, which fails if it throws.
    var willRead: @Sendable () throws -> Void = {}
    /// Called before a commit, which fails if it throws.
    var willCommit: @Sendable () throws -> Void = {}
}
#endif
