public import Channels
public import Foundation

// Neither kind of message has room for the route it has taken: see `ReturningMessages`.

@available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
extension NotificationCenter {
    /// Returns a channel that delivers the typed messages of a kind, whatever their subject.
    ///
    /// Foundation delivers these messages on the main actor, so listeners there are called before `post` returns, in
    /// the order of the posts.
    public func channel<Message: MainActorMessage & Sendable>(
        of type: Message.Type
    ) -> NotificationChannel<Message> where Message.Subject: AnyObject {
        let center = WeakReference(self)
        let stop = NotificationRoute.Stop.messages(ObjectIdentifier(type), center: ObjectIdentifier(self))
        return NotificationChannel(name: "\(type)", stop: stop, sources: [center]) { channel in
            guard let center = center.object as? NotificationCenter else { return nil }
            let returning = ReturningMessages<Message>()
            let token = center.addObserver(of: nil, for: type) { message in
                channel.arriveOnMainActor(message, returning.route(of: message))
            }
            return center.removal(of: token, returning, stop)
        }
    }

    /// Returns a channel that delivers the typed messages of a kind, whatever their subject.
    ///
    /// Foundation delivers each of these messages in its own task, after `post` has returned. They may arrive in any
    /// order, and concurrently.
    public func channel<Message: AsyncMessage>(
        of type: Message.Type
    ) -> NotificationChannel<Message> where Message.Subject: AnyObject {
        let center = WeakReference(self)
        let stop = NotificationRoute.Stop.messages(ObjectIdentifier(type), center: ObjectIdentifier(self))
        return NotificationChannel(name: "\(type)", stop: stop, sources: [center]) { channel in
            guard let center = center.object as? NotificationCenter else { return nil }
            let returning = ReturningMessages<Message>()
            let token = center.addObserver(of: nil, for: type) { message in
                channel.arrive(message, returning.route(of: message))
            }
            return center.removal(of: token, returning, stop)
        }
    }

    /// Starts expecting what links post from now on. Returns a closure that ends the registration.
    private func removal(
        of token: ObservationToken,
        _ returning: ReturningMessages<some Sendable>,
        _ stop: NotificationRoute.Stop
    ) -> @Sendable () -> Void {
        ReturningRegistry.shared.add(returning, at: stop)
        let center = WeakReference(self)
        return {
            ReturningRegistry.shared.remove(returning, at: stop)
            (center.object as? NotificationCenter)?.removeObserver(token)
        }
    }
}

@available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
extension Listenable where Message: NotificationCenter.MainActorMessage {
    /// Posts each message to a notification center as a typed message, on the main actor.
    ///
    /// If the message is posted on the main actor, observers receive it before `post` returns, otherwise soon after.
    ///
    /// - Returns: The token of the link. The link ends with it, and keeps the center alive.
    public func forward(
        to center: NotificationCenter,
        fileID: StaticString = #fileID,
        line: UInt = #line
    ) -> ListenerToken {
        let goal = NotificationRoute.Stop.messages(ObjectIdentifier(Message.self), center: ObjectIdentifier(center))
        let leg = RouteLeg((self as? any RouteStop)?.routeStop, goal)
        return posts.listen(fileID: fileID, line: line, isolation: nil) { @MainActor post in
            guard ReturningRegistry.shared.expect(post, over: leg, at: goal) else { return }
            center.post(post.message)
        }
    }
}

@available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
extension Listenable where Message: NotificationCenter.AsyncMessage {
    /// Posts each message to a notification center as a typed message, on the thread that posts it.
    ///
    /// - Returns: The token of the link. The link ends with it, and keeps the center alive.
    public func forward(
        to center: NotificationCenter,
        fileID: StaticString = #fileID,
        line: UInt = #line
    ) -> ListenerToken {
        let goal = NotificationRoute.Stop.messages(ObjectIdentifier(Message.self), center: ObjectIdentifier(center))
        let leg = RouteLeg((self as? any RouteStop)?.routeStop, goal)
        return posts.listen(fileID: fileID, line: line, isolation: nil) { @Sendable post in
            guard ReturningRegistry.shared.expect(post, over: leg, at: goal) else { return }
            center.post(post.message)
        }
    }
}
