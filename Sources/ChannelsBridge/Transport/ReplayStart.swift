internal import Channels

/// The message with which a durable name starts when it subscribes for the first time: ``beginning``, unless
/// the route or the subscription says otherwise.
///
/// A name that the broker already knows continues where it left off, and ignores this. To receive messages
/// again, use a new name: `.incoming(.sold, durable: true).inGroup("audit-2").replaying(from: .beginning)`.
public struct ReplayStart: Hashable, Sendable {
    /// Which message to start with, for the author of a transport.
    public enum Position: Hashable, Sendable {
        /// The oldest message that the broker has.
        case beginning
        /// The first message that is published from now on.
        case new
        /// The first message that was stored at this time or later.
        case time(secondsSince1970: Double)
        /// The message with this number, or the next later one.
        case sequence(UInt64)
    }

    /// Which message to start with, for the author of a transport.
    public let position: Position

    /// The oldest message that the broker has.
    public static let beginning = ReplayStart(position: .beginning)
    /// The first message that is published from now on.
    public static let new = ReplayStart(position: .new)

    /// The first message that was stored at this time or later, by the clock of the broker.
    public static func time(secondsSince1970: Double) -> ReplayStart {
        require(
            !secondsSince1970.isNaN,
            "ReplayStart.time(secondsSince1970: \(secondsSince1970)) is not a point in time: pass seconds since 1970, or use .beginning or .new"
        )
        return ReplayStart(
            position: .time(secondsSince1970: Timestamp(secondsSince1970: secondsSince1970).secondsSince1970)
        )
    }

    /// The first message that was stored this long ago or later.
    public static func ago(_ age: Duration) -> ReplayStart {
        .time(secondsSince1970: Timestamp.now.secondsSince1970 - age / .seconds(1))
    }

    /// The message with this number in its stream (``InboundMessage/sequence``), or the next later one.
    public static func sequence(_ number: UInt64) -> ReplayStart {
        ReplayStart(position: .sequence(number))
    }
}
