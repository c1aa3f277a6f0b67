public import Channels
public import Foundation

// Neither has an entry for the way it has taken: see `ReturningMessages`.

@available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
extension NotificationCenter {
    /// Returns a channel with the typed messages of a kind, of every subject.
    ///
    /// Foundation delivers the messages on the main actor: listeners there are called before `post` returns,
    /// in the order of the posts.
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

    /// Returns a channel with the typed messages of a kind, of every subject.
    ///
    /// Foundation delivers each message in its own task, after `post` has returned: in any order, possibly
    /// concurrently.
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

    /// Expects what links post from now on; returns what ends the registration.
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
    /// Posts each message to a notification center as a typed one, on the main actor.
    ///
    /// Observers receive it before `post` returns if the message is posted on the main actor, otherwise soon
    /// after.
    ///
    /// - Returns: The token of the link, which ends with it and keeps the center alive.
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
    /// Posts each message to a notification center as a typed one, on the thread that posts it.
    ///
    /// - Returns: The token of the link, which ends with it and keeps the center alive.
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
