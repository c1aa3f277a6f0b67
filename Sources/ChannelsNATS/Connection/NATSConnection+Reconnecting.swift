#if NATS
import Channels
import ChannelsBridge
import CNATS
import Dispatch

/// Replaces a lost connection of the C client with another one, including its subscriptions.
///
/// The C client can do that by itself, but it ends for good after some errors. It also keeps a message that
/// was published while it had no connection, which then overtakes messages that were lost before.
extension NATSConnection {
    /// Connects. Called on the control queue for the first connection, and on the reconnecting queue for
    /// others.
    func makeLibraryConnection() throws -> LibraryConnection {
        let id = ConnectionRegistry.shared.add(self)
        do {
            let discovered = state.withLock { $0.discovered }
            let options = try ClientOptions(configuration, discovered: discovered, registration: id)
            var pointer: OpaquePointer?
            let status = natsConnection_Connect(&pointer, options.pointer)
            guard status == NATS_OK, let pointer else { throw ClientOptions.connectError(status, configuration) }
            return LibraryConnection(pointer, id: id)
        } catch {
            // The C client calls no callback after it failed to connect.
            ConnectionRegistry.shared.remove(id)
            throw error
        }
    }

    /// Called on a thread of the C client when a connection has ended. No other callback of it follows,
    /// except those of its subscriptions.
    func closedByLibrary(_ id: UInt, _ reason: BridgeError?) {
        let (library, isClosing) = state.withLock { state in
            state.library?.id == id && !state.isClosing ? (state.lose(), false) : (nil, state.isClosing)
        }
        if isClosing { return hasClosed() }
        guard let library else { return }
        lost(reason)
        // Destroyed on the control queue, because this is one of its callbacks.
        control.async { withExtendedLifetime(library) {} }
    }

    private func lost(_ reason: BridgeError?) {
        resumeWaiters()
        onEvent(.interrupted)
        onEvent(.disconnected(reason))
        let shortLived = state.withLock { state in
            // A connection that ends this soon is no better than a failed attempt.
            let isShortLived = state.connected.duration(to: .now) < configuration.reconnectWait * 4
            state.shortLived = isShortLived ? state.shortLived + 1 : 0
            return state.shortLived
        }
        if shortLived == Self.mostShortLived {
            let detail = "\(shortLived) connections in a row ended as soon as they were made"
            onEvent(.failed(reason ?? BridgeError(.notConnected, detail)))
        }
        reconnectLater(hasFailed: shortLived > 0)
    }

    /// A fault is raised after this many short-lived connections in a row.
    private static let mostShortLived = 3

    /// - Parameter hasFailed: Whether the last attempt failed.
    private func reconnectLater(hasFailed: Bool) {
        let wait = Int(clamping: configuration.reconnectWait.milliseconds)
        // A random delay, so that the clients of a server do not all connect at the same instant.
        let delay = hasFailed ? wait + .random(in: 0...wait) : .random(in: 0...wait / 4)
        reconnecting.asyncAfter(deadline: .now() + .milliseconds(delay)) { [weak self] in self?.reconnect() }
    }

    /// Called on the reconnecting queue.
    private func reconnect() {
        guard !state.withLock({ $0.isClosing }) else { return }
        do {
            let library = try makeLibraryConnection()
            control.async { self.restore(library) }
        } catch {
            report(error)
            reconnectLater(hasFailed: true)
        }
    }

    /// Reports an error once. An unreachable server is not reported, because that is what being disconnected
    /// means.
    private func report(_ error: any Error) {
        let error = BridgeError(wrapping: error)
        let isNew = state.withLock { state in
            defer { state.reported = error.code }
            return state.reported != error.code && error.code != .notConnected
        }
        if isNew { onEvent(.failed(error)) }
    }

    /// Called on the control queue, where subscribing happens as well.
    private func restore(_ library: LibraryConnection) {
        let subscriptions = state.withLock { state in
            state.isClosing ? [] : state.subscriptions.sorted { $0.key < $1.key }.compactMap(\.value.subscription)
        }
        for subscription in subscriptions { subscription.restore(on: library) }
        // Waits until the subscriptions are in effect at the server, so that nothing published after the
        // event is missed.
        if !subscriptions.isEmpty { _ = flush(library, timeout: configuration.requestTimeout.milliseconds) }
        let (isWanted, startsWriter) = state.withLock { state in
            guard !state.isClosing else { return (false, false) }
            state.adopt(library)
            return (true, state.outbox.reconnect())
        }
        guard isWanted else { return }
        if startsWriter { startWriter() }
        onEvent(.reconnected)
        // The connection was lost again before it could be reported.
        if library.isClosed { closedByLibrary(library.id, lastError(of: library.pointer)) }
    }

    // MARK: What the C client reports

    func failed(_ error: BridgeError) {
        let isRefused = { (subscription: NATSSubscription) in
            error.refuses(subscription.subject, group: subscription.group)
        }
        // Nothing is released under the lock, because the deinit of a subscription takes it.
        let (awaited, others) = state.withLock { state in
            let index = state.confirming.firstIndex { isRefused($0.subscription) }
            return (
                index.map { state.confirming.remove(at: $0) }, state.subscriptions.values.compactMap(\.subscription)
            )
        }
        if let awaited { return awaited.onOutcome(error) }
        // Each of them is tried again.
        let news = others.filter(isRefused).map { $0.wasRefused() }
        if news.isEmpty || news.contains(true) { onEvent(.failed(error)) }
    }

    func takeConfirmation(of number: UInt64) -> NATSSubscription.Confirmation? {
        state.withLock { state in
            state.confirming.firstIndex { $0.subscription.number == number }.map { state.confirming.remove(at: $0) }
        }
    }

    func slow(_ pointer: OpaquePointer) {
        let subscriptions = state.withLock { $0.subscriptions.values.compactMap(\.subscription) }
        subscriptions.first { $0.wraps(pointer) }?.becameSlow()
    }

    func add(_ subscription: NATSSubscription) {
        let stored = WeakSubscription(subscription: subscription)
        state.withLock { $0.subscriptions[subscription.number] = stored }
    }

    func remove(_ number: UInt64) {
        _ = state.withLock { $0.subscriptions.removeValue(forKey: number) }
    }
}

extension NATSConnection.State {
    /// Takes over a new connection.
    mutating func adopt(_ library: LibraryConnection) {
        self.library = library
        connected = .now
        maxPayload = library.maxPayload
        reported = nil
        for server in library.discoveredServers where !discovered.contains(server) { discovered.append(server) }
    }

    /// Gives up the lost connection.
    ///
    /// - Returns: The connection, to be released without a lock.
    mutating func lose() -> LibraryConnection? {
        outbox.disconnect()
        return library.take()
    }
}

struct WeakSubscription {
    weak var subscription: NATSSubscription?
}
#endif
