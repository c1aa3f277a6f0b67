internal import Channels
public import Foundation

extension NotificationCenter {
    /// Returns a channel that delivers the notifications of a name as messages.
    ///
    /// ```swift
    /// let logins = NotificationCenter.default.channel(for: .userLoggedIn) { $0.userInfo?["id"] as? Int }
    /// logins.listen(self) { me, id in me.greet(id) }
    /// ```
    ///
    /// - Parameters:
    ///   - name: The name of the notifications.
    ///   - object: If given, only notifications posted with this object are delivered. Held weakly.
    ///   - message: Makes the message, on the thread that posts the notification. Nil skips the notification.
    public func channel<Message: Sendable>(
        for name: Notification.Name,
        object: (any AnyObject & Sendable)? = nil,
        _ message: @escaping @Sendable (Notification) -> Message?
    ) -> NotificationChannel<Message> {
        let center = WeakReference(self)
        let filter = object.map { WeakReference($0) }
        let sources = [center] + (filter.map { [$0] } ?? [])
        return NotificationChannel(name: name.rawValue, stop: .init(name, self), sources: sources) { channel in
            guard let center = center.object as? NotificationCenter else { return nil }
            let object = filter?.object
            // A deallocated object posts nothing.
            guard filter == nil || object != nil else { return nil }
            // The center keeps the channel alive while the observer is registered.
            let observer = Observer(
                center.addObserver(forName: name, object: object, queue: nil) { notification in
                    // The address of a deallocated object may have been reused.
                    guard filter == nil || filter?.object === notification.object as AnyObject else { return }
                    guard let message = message(notification) else { return }
                    channel.arrive(message, notification.userInfo?[NotificationRoute.key] as? NotificationRoute)
                }
            )
            return { [reference = WeakReference(center)] in
                (reference.object as? NotificationCenter)?.removeObserver(observer.token)
            }
        }
    }
}

/// The opaque token of an observer. It is only passed back to the center.
private struct Observer: @unchecked Sendable {
    let token: any NSObjectProtocol

    init(_ token: any NSObjectProtocol) { self.token = token }
}
