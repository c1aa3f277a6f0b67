internal import Channels
internal import Foundation

/// The way a message has taken through channels and notification centers, so that it comes to each once.
///
/// It travels with the notification, under ``key`` in its `userInfo`, and with the post, as its sender.
final class NotificationRoute: Sendable {
    /// A place where a message was.
    enum Stop: Hashable, Sendable {
        case channel(ObjectIdentifier)
        case name(String, center: ObjectIdentifier)
        /// The typed messages of a kind.
        case messages(ObjectIdentifier, center: ObjectIdentifier)

        init(_ name: Notification.Name, _ center: NotificationCenter) {
            self = .name(name.rawValue, center: ObjectIdentifier(center))
        }
    }

    /// Of a kind that a property list could hold, too.
    static let key = "swift-channels.route"

    private let stops: Set<Stop>

    private init(_ stops: Set<Stop>) { self.stops = stops }

    func contains(_ stop: Stop) -> Bool { stops.contains(stop) }

    /// The route to a further stop.
    static func extending(_ route: NotificationRoute?, with stops: Stop?...) -> NotificationRoute {
        NotificationRoute((route?.stops ?? []).union(stops.compactMap { $0 }))
    }
}

extension NotificationRoute: CustomStringConvertible {
    var description: String { "NotificationCenter" }
}

/// What a message can be forwarded to and from, so that both directions are known to be one channel's.
protocol RouteStop {
    var routeStop: NotificationRoute.Stop { get }
}

extension Channel: RouteStop {
    var routeStop: NotificationRoute.Stop { .channel(ObjectIdentifier(self)) }
}

extension StateChannel: RouteStop {
    var routeStop: NotificationRoute.Stop { .channel(ObjectIdentifier(self)) }
}

extension NamedChannel: RouteStop {
    /// That of the channel, which is one and the same as long as somebody listens.
    var routeStop: NotificationRoute.Stop { channel.routeStop }
}
