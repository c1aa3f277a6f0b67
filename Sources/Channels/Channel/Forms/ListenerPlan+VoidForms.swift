// Written by Scripts/generate-forms. Change that, not this.
public import Dispatch

// The list passes the message's address and holds message and owner for the call.
extension ListenerPlan {
    @inlinable
    init<Owner: AnyObject & Sendable>(
        owner: Owner,
        bodyWithoutMessage body: @escaping @isolated(any) @Sendable (Owner) -> Void
    ) {
        let plain = Body1(unisolated: IsolatedBody1(body)).call
        self.init(owner: owner, delivery: .isolated(body.isolation)) { _, owner, _ in
            lend(owner) { (owner: Owner) in
                plain(owner)
            }
        }
    }

    @inlinable
    init<Owner: AnyObject & Sendable>(
        owner: Owner,
        informedWithoutMessage body: @escaping @isolated(any) @Sendable (Owner, PostInfo) -> Void
    ) {
        let plain = Body2(unisolated: IsolatedBody2(body)).call
        self.init(owner: owner, delivery: .isolated(body.isolation)) { _, owner, frame in
            lend(owner) { (owner: Owner) in
                plain(owner, PostInfo(frame))
            }
        }
    }

    @inlinable
    init<Owner: AnyObject & Sendable, Context: Sendable>(
        owner: Owner,
        context: Context,
        contextualWithoutMessage body: @escaping @isolated(any) @Sendable (Owner, Context) -> Void
    ) {
        let plain = Body2(unisolated: IsolatedBody2(body)).call
        self.init(owner: owner, delivery: .isolated(body.isolation)) { _, owner, _ in
            lend(owner) { (owner: Owner) in
                plain(owner, context)
            }
        }
    }

    @inlinable
    init<Owner: AnyObject & Sendable>(
        owner: Owner,
        throwingBodyWithoutMessage body: @escaping @isolated(any) @Sendable (Owner) throws -> Void
    ) {
        let plain = ThrowingBody1(unisolated: ThrowingIsolatedBody1(body)).call
        self.init(owner: owner, delivery: .isolated(body.isolation)) { _, owner, frame in
            lend(owner) { (owner: Owner) in
                do { try plain(owner) } catch { PostFrame.listenerThrew(error, in: frame) }
            }
        }
    }

    @inlinable
    init<Owner: AnyObject & Sendable>(
        owner: Owner,
        throwingInformedWithoutMessage body: @escaping @isolated(any) @Sendable (Owner, PostInfo) throws -> Void
    ) {
        let plain = ThrowingBody2(unisolated: ThrowingIsolatedBody2(body)).call
        self.init(owner: owner, delivery: .isolated(body.isolation)) { _, owner, frame in
            lend(owner) { (owner: Owner) in
                do { try plain(owner, PostInfo(frame)) } catch { PostFrame.listenerThrew(error, in: frame) }
            }
        }
    }

    @inlinable
    init<Owner: AnyObject & Sendable, Context: Sendable>(
        owner: Owner,
        context: Context,
        throwingContextualWithoutMessage body: @escaping @isolated(any) @Sendable (Owner, Context) throws -> Void
    ) {
        let plain = ThrowingBody2(unisolated: ThrowingIsolatedBody2(body)).call
        self.init(owner: owner, delivery: .isolated(body.isolation)) { _, owner, frame in
            lend(owner) { (owner: Owner) in
                do { try plain(owner, context) } catch { PostFrame.listenerThrew(error, in: frame) }
            }
        }
    }

    @inlinable
    init<Owner: AnyObject & Sendable>(
        owner: Owner,
        asyncBodyWithoutMessage body: @escaping @isolated(any) @Sendable (Owner) async throws -> Void
    ) {
        self.init(
            owner: owner,
            on: .closure(body.isolation),
            async: { _, owner, _ in
                // The list hands back the object registered.
                let owner = unsafeDowncast(owner.unsafelyUnwrapped, to: Owner.self)
                try await body(owner)
            }
        )
    }

    @inlinable
    init<Owner: AnyObject & Sendable>(
        owner: Owner,
        asyncInformedWithoutMessage body: @escaping @isolated(any) @Sendable (Owner, PostInfo) async throws -> Void
    ) {
        self.init(
            owner: owner,
            on: .closure(body.isolation),
            async: { _, owner, info in
                // The list hands back the object registered.
                let owner = unsafeDowncast(owner.unsafelyUnwrapped, to: Owner.self)
                try await body(owner, info)
            }
        )
    }

    @inlinable
    init<Owner: AnyObject & Sendable, Context: Sendable>(
        owner: Owner,
        context: Context,
        asyncContextualWithoutMessage body: @escaping @isolated(any) @Sendable (Owner, Context) async throws -> Void
    ) {
        self.init(
            owner: owner,
            on: .closure(body.isolation),
            async: { _, owner, _ in
                // The list hands back the object registered.
                let owner = unsafeDowncast(owner.unsafelyUnwrapped, to: Owner.self)
                try await body(owner, context)
            }
        )
    }

    @inlinable
    init<Owner: AnyObject & Sendable>(
        owner: Owner,
        queue: DispatchQueue,
        bodyWithoutMessage body: @escaping @Sendable (Owner) throws -> Void
    ) {
        self.init(owner: owner, delivery: .queue(queue)) { _, owner, frame in
            lend(owner) { (owner: Owner) in
                do { try body(owner) } catch { PostFrame.listenerThrew(error, in: frame) }
            }
        }
    }

    @inlinable
    init<Owner: AnyObject & Sendable>(
        owner: Owner,
        queue: DispatchQueue,
        informedWithoutMessage body: @escaping @Sendable (Owner, PostInfo) throws -> Void
    ) {
        self.init(owner: owner, delivery: .queue(queue)) { _, owner, frame in
            lend(owner) { (owner: Owner) in
                do { try body(owner, PostInfo(frame)) } catch { PostFrame.listenerThrew(error, in: frame) }
            }
        }
    }

    @inlinable
    init<Owner: AnyObject & Sendable, Context: Sendable>(
        owner: Owner,
        queue: DispatchQueue,
        context: Context,
        contextualWithoutMessage body: @escaping @Sendable (Owner, Context) throws -> Void
    ) {
        self.init(owner: owner, delivery: .queue(queue)) { _, owner, frame in
            lend(owner) { (owner: Owner) in
                do { try body(owner, context) } catch { PostFrame.listenerThrew(error, in: frame) }
            }
        }
    }

    @inlinable
    init<Owner: Actor>(
        actor owner: Owner,
        throwingBodyWithoutMessage body: @escaping @Sendable (isolated Owner) throws -> Void
    ) {
        let plain = ThrowingActorBody1(unisolated: ThrowingIsolatedActorBody1(body)).call
        self.init(owner: owner, delivery: .owner) { _, owner, frame in
            lend(owner) { (owner: Owner) in
                do { try plain(owner) } catch { PostFrame.listenerThrew(error, in: frame) }
            }
        }
    }

    @inlinable
    init<Owner: Actor>(
        actor owner: Owner,
        throwingInformedWithoutMessage body: @escaping @Sendable (isolated Owner, PostInfo) throws -> Void
    ) {
        let plain = ThrowingActorBody2(unisolated: ThrowingIsolatedActorBody2(body)).call
        self.init(owner: owner, delivery: .owner) { _, owner, frame in
            lend(owner) { (owner: Owner) in
                do { try plain(owner, PostInfo(frame)) } catch { PostFrame.listenerThrew(error, in: frame) }
            }
        }
    }

    @inlinable
    init<Owner: Actor, Context: Sendable>(
        actor owner: Owner,
        context: Context,
        throwingContextualWithoutMessage body: @escaping @Sendable (isolated Owner, Context) throws -> Void
    ) {
        let plain = ThrowingActorBody2(unisolated: ThrowingIsolatedActorBody2(body)).call
        self.init(owner: owner, delivery: .owner) { _, owner, frame in
            lend(owner) { (owner: Owner) in
                do { try plain(owner, context) } catch { PostFrame.listenerThrew(error, in: frame) }
            }
        }
    }

    @inlinable
    init<Owner: Actor>(
        actor owner: Owner,
        asyncBodyWithoutMessage body: @escaping @Sendable (isolated Owner) async throws -> Void
    ) {
        self.init(
            owner: owner,
            on: .owner,
            async: { _, owner, _ in
                // The list hands back the object registered.
                let owner = unsafeDowncast(owner.unsafelyUnwrapped, to: Owner.self)
                try await body(owner)
            }
        )
    }

    @inlinable
    init<Owner: Actor, Context: Sendable>(
        actor owner: Owner,
        context: Context,
        asyncContextualWithoutMessage body: @escaping @Sendable (isolated Owner, Context) async throws -> Void
    ) {
        self.init(
            owner: owner,
            on: .owner,
            async: { _, owner, _ in
                // The list hands back the object registered.
                let owner = unsafeDowncast(owner.unsafelyUnwrapped, to: Owner.self)
                try await body(owner, context)
            }
        )
    }

    @inlinable
    init(
        bodyWithoutMessage body: @escaping @isolated(any) @Sendable () -> Void
    ) {
        let plain = Body0(unisolated: IsolatedBody0(body)).call
        self.init(owner: nil, delivery: .isolated(body.isolation)) { _, _, _ in
            plain()
        }
    }

    @inlinable
    init(
        informedWithoutMessage body: @escaping @isolated(any) @Sendable (PostInfo) -> Void
    ) {
        let plain = Body1(unisolated: IsolatedBody1(body)).call
        self.init(owner: nil, delivery: .isolated(body.isolation)) { _, _, frame in
            plain(PostInfo(frame))
        }
    }

    @inlinable
    init(
        throwingBodyWithoutMessage body: @escaping @isolated(any) @Sendable () throws -> Void
    ) {
        let plain = ThrowingBody0(unisolated: ThrowingIsolatedBody0(body)).call
        self.init(owner: nil, delivery: .isolated(body.isolation)) { _, _, frame in
            do { try plain() } catch { PostFrame.listenerThrew(error, in: frame) }
        }
    }

    @inlinable
    init(
        throwingInformedWithoutMessage body: @escaping @isolated(any) @Sendable (PostInfo) throws -> Void
    ) {
        let plain = ThrowingBody1(unisolated: ThrowingIsolatedBody1(body)).call
        self.init(owner: nil, delivery: .isolated(body.isolation)) { _, _, frame in
            do { try plain(PostInfo(frame)) } catch { PostFrame.listenerThrew(error, in: frame) }
        }
    }

    @inlinable
    init(
        asyncBodyWithoutMessage body: @escaping @isolated(any) @Sendable () async throws -> Void
    ) {
        self.init(
            owner: nil,
            on: .closure(body.isolation),
            async: { _, _, _ in
                try await body()
            }
        )
    }

    @inlinable
    init(
        asyncInformedWithoutMessage body: @escaping @isolated(any) @Sendable (PostInfo) async throws -> Void
    ) {
        self.init(
            owner: nil,
            on: .closure(body.isolation),
            async: { _, _, info in
                try await body(info)
            }
        )
    }

    @inlinable
    init(
        queue: DispatchQueue,
        bodyWithoutMessage body: @escaping @Sendable () throws -> Void
    ) {
        self.init(owner: nil, delivery: .queue(queue)) { _, _, frame in
            do { try body() } catch { PostFrame.listenerThrew(error, in: frame) }
        }
    }

    @inlinable
    init(
        queue: DispatchQueue,
        informedWithoutMessage body: @escaping @Sendable (PostInfo) throws -> Void
    ) {
        self.init(owner: nil, delivery: .queue(queue)) { _, _, frame in
            do { try body(PostInfo(frame)) } catch { PostFrame.listenerThrew(error, in: frame) }
        }
    }
}
