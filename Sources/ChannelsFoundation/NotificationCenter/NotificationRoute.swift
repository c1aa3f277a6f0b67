internal import Channels
internal import Foundation

/// The route of a message through channels and notification centers, so that it visits each once.
///
/// It travels with the notification, under ``key`` in its `userInfo`, and with the post, as its sender.
final class NotificationRoute: Sendable {
    /// A place that a message has visited.
    enum Stop: Hashable, Sendable {
        case channel(ObjectIdentifier)
        case name(String, center: ObjectIdentifier)
        /// The typed messages of a kind.
        case messages(ObjectIdentifier, center: ObjectIdentifier)

        init(_ name: Notification.Name, _ center: NotificationCenter) {
            self = .name(name.rawValue, center: ObjectIdentifier(center))
        }
    }

    /// The key in `userInfo`: a string, so that a property list could hold it.
    static let key = "swift-channels.route"

    /// Only a handful, so that searching them is cheaper than hashing.
    private let stops: [Stop]

    fileprivate init(_ stops: [Stop]) { self.stops = stops }

    func contains(_ stop: Stop) -> Bool { stops.contains(stop) }

    fileprivate func extended(with further: [Stop]) -> NotificationRoute {
        NotificationRoute(stops + further.filter { !contains($0) })
    }
}

/// The stops that a link adds to the route of each message.
struct RouteLeg: Sendable {
    private let stops: [NotificationRoute.Stop]
    /// The route of a message that comes from nowhere else. Made once, because most messages do.
    private let whole: NotificationRoute

    init(_ stops: NotificationRoute.Stop?...) {
        self.stops = stops.compactMap { $0 }
        whole = NotificationRoute(self.stops)
    }

    /// The route up to the end of this leg.
    func extending(_ route: NotificationRoute?) -> NotificationRoute { route?.extended(with: stops) ?? whole }
}

extension NotificationRoute: CustomStringConvertible {
    var description: String { "NotificationCenter" }
}

/// A place that messages can be forwarded to and from, so that both directions of one channel are recognized.
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
    /// The stop of the channel, which is the same object as long as it has listeners.
    var routeStop: NotificationRoute.Stop { channel.routeStop }
}
