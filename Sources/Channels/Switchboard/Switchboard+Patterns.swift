public import Dispatch

/// Listening to every channel whose name matches a pattern.
///
/// The listener takes its place by priority and registration among each channel's own listeners, counts in the result of `post`, and hears posts
/// made on the channel itself, values of named states included and requests not. It has one token, and one mailbox where it needs one.
/// It does not keep channels.
extension Switchboard {
    /// Listens for as long as the token returned is kept.
    public func listen(
        matching pattern: ChannelPattern,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (String, any Sendable) throws -> Void
    ) -> ListenerToken {
        let isolation = body.isolation
        let plain = ThrowingBody2(unisolated: ThrowingIsolatedBody2(body)).call
        return register(
            ListenerPlan(owner: nil, delivery: .isolated(isolation)) { message, _, frame in
                let message = PatternMessage.at(message)
                do { try plain(message.name, message.message) } catch { PostFrame.listenerThrew(error, in: frame) }
            },
            pattern,
            priority,
            buffering,
            PackedSite(fileID, line)
        )
    }

    /// Listens, asynchronously, for as long as the token returned is kept.
    public func listen(
        matching pattern: ChannelPattern,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (String, any Sendable) async throws -> Void
    ) -> ListenerToken {
        register(
            ListenerPlan(
                owner: nil,
                on: .closure(body.isolation),
                async: { message, _, _ in
                    let message = PatternMessage.at(message)
                    try await body(message.name, message.message)
                }
            ),
            pattern,
            priority,
            buffering,
            PackedSite(fileID, line)
        )
    }

    /// Listens on a queue for as long as the token returned is kept.
    public func listen(
        matching pattern: ChannelPattern,
        priority: Priority = .normal,
        on queue: DispatchQueue,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (String, any Sendable) throws -> Void
    ) -> ListenerToken {
        register(
            ListenerPlan(owner: nil, delivery: .queue(queue)) { message, _, frame in
                let message = PatternMessage.at(message)
                do { try body(message.name, message.message) } catch { PostFrame.listenerThrew(error, in: frame) }
            },
            pattern,
            priority,
            buffering,
            PackedSite(fileID, line)
        )
    }

    /// Listens for as long as the owner lives.
    @discardableResult
    public func listen<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        matching pattern: ChannelPattern,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Owner, String, any Sendable) throws -> Void
    ) -> ListenerToken {
        let isolation = body.isolation
        let plain = ThrowingBody3(unisolated: ThrowingIsolatedBody3(body)).call
        return register(
            ListenerPlan(owner: owner, delivery: .isolated(isolation)) { message, owner, frame in
                let message = PatternMessage.at(message)
                lend(owner) { (owner: Owner) in
                    do { try plain(owner, message.name, message.message) } catch { PostFrame.listenerThrew(error, in: frame) }
                }
            },
            pattern,
            priority,
            buffering,
            PackedSite(fileID, line)
        )
    }

    /// Listens, asynchronously, for as long as the owner lives.
    @discardableResult
    public func listen<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        matching pattern: ChannelPattern,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Owner, String, any Sendable) async throws -> Void
    ) -> ListenerToken {
        register(
            ListenerPlan(
                owner: owner,
                on: .closure(body.isolation),
                async: { message, owner, _ in
                    let message = PatternMessage.at(message)
                    // The list hands back the object registered.
                    try await body(unsafeDowncast(owner.unsafelyUnwrapped, to: Owner.self), message.name, message.message)
                }
            ),
            pattern,
            priority,
            buffering,
            PackedSite(fileID, line)
        )
    }

    /// Listens on a queue for as long as the owner lives.
    @discardableResult
    public func listen<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        matching pattern: ChannelPattern,
        priority: Priority = .normal,
        on queue: DispatchQueue,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (Owner, String, any Sendable) throws -> Void
    ) -> ListenerToken {
        register(
            ListenerPlan(owner: owner, delivery: .queue(queue)) { message, owner, frame in
                let message = PatternMessage.at(message)
                lend(owner) { (owner: Owner) in
                    do { try body(owner, message.name, message.message) } catch { PostFrame.listenerThrew(error, in: frame) }
                }
            },
            pattern,
            priority,
            buffering,
            PackedSite(fileID, line)
        )
    }

    /// Listens on an actor for as long as it lives.
    @discardableResult
    public func listen<Owner: Actor>(
        _ owner: Owner,
        matching pattern: ChannelPattern,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (isolated Owner, String, any Sendable) throws -> Void
    ) -> ListenerToken {
        let plain = ThrowingActorBody3(unisolated: ThrowingIsolatedActorBody3(body)).call
        return register(
            ListenerPlan(owner: owner, delivery: .owner) { message, owner, frame in
                let message = PatternMessage.at(message)
                lend(owner) { (owner: Owner) in
                    do { try plain(owner, message.name, message.message) } catch { PostFrame.listenerThrew(error, in: frame) }
                }
            },
            pattern,
            priority,
            buffering,
            PackedSite(fileID, line)
        )
    }

    /// Listens on an actor, asynchronously, for as long as it lives.
    @discardableResult
    @_disfavoredOverload
    public func listen<Owner: Actor>(
        _ owner: Owner,
        matching pattern: ChannelPattern,
        priority: Priority = .normal,
        buffering: BufferingPolicy = .unbounded,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (isolated Owner, String, any Sendable) async throws -> Void
    ) -> ListenerToken {
        register(
            ListenerPlan(
                owner: owner,
                on: .owner,
                async: { message, owner, _ in
                    let message = PatternMessage.at(message)
                    // The list hands back the object registered.
                    try await body(unsafeDowncast(owner.unsafelyUnwrapped, to: Owner.self), message.name, message.message)
                }
            ),
            pattern,
            priority,
            buffering,
            PackedSite(fileID, line)
        )
    }

    func register(
        _ plan: ListenerPlan,
        _ pattern: ChannelPattern,
        _ priority: Priority,
        _ buffering: BufferingPolicy,
        _ site: PackedSite,
        intake: PatternListener.Intake? = nil
    ) -> ListenerToken {
        let listener = PatternListener(pattern, priority, site, faults, counts: diagnostics == .counts, intake: intake)
        listener.hub.onListeningChange = { [weak listener, reference] in
            guard let listener, listener.hub.isEmptyNow else { return }
            reference.patterns?.remove(listener)
        }
        let entry = listener.hub.entry(for: plan, buffering, site)
        // Straight in, so that the hook above does not see the hub before it has its listener.
        guard listener.hub.insert(entry, priority: priority.rawValue).isIn else { return ListenerToken(entry) }
        patterns.add(listener) { registry.channels }
        // The owner may have gone before the hook could find the listener.
        if listener.hub.isEmptyNow { patterns.remove(listener) }
        return ListenerToken(entry)
    }
}
