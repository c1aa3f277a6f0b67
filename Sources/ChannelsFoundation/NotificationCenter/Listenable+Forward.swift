public import Channels
public import Foundation

extension Listenable {
    /// Posts a notification for each message, for code that uses only the notification center.
    ///
    /// ```swift
    /// let link = sales.forward(to: .default, as: .salesChanged) { ["total": $0.total] }
    /// ```
    ///
    /// The notification is posted on the thread that posts the message, before `post` returns; for a state, on the
    /// thread that delivers the value, beginning with the current value.
    ///
    /// A message that came from the same name in the same center, directly or through other channels and centers, is
    /// not sent back.
    ///
    /// - Parameters:
    ///   - center: The center, which the link keeps alive.
    ///   - name: The name of the notifications.
    ///   - object: The object of the notifications, which the link keeps alive.
    ///   - userInfo: Makes the `userInfo`, on the thread that posts. One entry is added to it for loop detection.
    /// - Returns: The token of the link. The link ends with it.
    public func forward(
        to center: NotificationCenter,
        as name: Notification.Name,
        object: (any AnyObject & Sendable)? = nil,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ userInfo: @escaping @Sendable (Message) -> [AnyHashable: Any]? = { _ in nil }
    ) -> ListenerToken {
        let goal = NotificationRoute.Stop(name, center)
        let leg = RouteLeg((self as? any RouteStop)?.routeStop, goal)
        return posts.listen(fileID: fileID, line: line, isolation: nil) { @Sendable post in
            let route = post.sender as? NotificationRoute
            guard route?.contains(goal) != true else { return }
            var content = userInfo(post.message) ?? [:]
            content[NotificationRoute.key] = leg.extending(route)
            center.post(name: name, object: object, userInfo: content)
        }
    }
}

extension NotificationChannel {
    /// Posts every message on a channel.
    ///
    /// ```swift
    /// let received = center.channel(for: .sold) { $0.userInfo?["sale"] as? Sale }.forward(to: till.sold)
    /// let sent = till.sold.forward(to: center, as: .sold) { ["sale": $0] }
    /// ```
    ///
    /// Together, these two links connect a channel and a center without an echo: a message that the channel has
    /// forwarded does not come back, not even through other channels and centers. Messages are posted on the thread
    /// that posts the notification.
    ///
    /// - Returns: The token of the link. The link ends with it, and keeps the channel alive.
    public func forward(
        to channel: Channel<Message>,
        fileID: StaticString = #fileID,
        line: UInt = #line
    ) -> ListenerToken {
        take(to: channel.routeStop, fileID: fileID, line: line) { message, route in
            channel.postFromThisThread(message, from: route)
        }
    }

    /// Posts every message on a named channel, without an echo. The link keeps the channel alive.
    public func forward(
        to channel: NamedChannel<Message>,
        fileID: StaticString = #fileID,
        line: UInt = #line
    ) -> ListenerToken {
        forward(to: channel.channel, fileID: fileID, line: line)
    }

    /// Stores every message in a state, without an echo. The link keeps the state alive.
    public func forward(
        to state: StateChannel<Message>,
        fileID: StaticString = #fileID,
        line: UInt = #line
    ) -> ListenerToken {
        take(to: state.routeStop, fileID: fileID, line: line) { message, route in
            state.setFromThisThread(message, from: route)
        }
    }

    private func take(
        to goal: NotificationRoute.Stop,
        fileID: StaticString,
        line: UInt,
        _ take: @escaping @Sendable (Message, NotificationRoute) -> Void
    ) -> ListenerToken {
        posts.listen(fileID: fileID, line: line, isolation: nil) { @Sendable post in
            // Every message of this channel has a route as its sender.
            guard let route = post.sender as? NotificationRoute, !route.contains(goal) else { return }
            take(post.message, route)
        }
    }
}
