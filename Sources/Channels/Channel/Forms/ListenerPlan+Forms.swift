// Written by Scripts/generate-forms. Change that, not this.
public import Dispatch

// The list passes the message's address and holds message and owner for the call.
extension ListenerPlan {
    @inlinable
    init<Owner: AnyObject & Sendable, Message: Sendable>(
        owner: Owner,
        body: @escaping @isolated(any) @Sendable (Owner, Message) -> Void
    ) {
        let plain = Body2(unisolated: IsolatedBody2(body))
        self.init(owner: owner, isolatedTo: body.isolation, bare: BareCall(plain))
    }

    @inlinable
    init<Owner: AnyObject & Sendable, Message: Sendable>(
        owner: Owner,
        informed body: @escaping @isolated(any) @Sendable (Owner, Message, PostInfo) -> Void
    ) {
        let plain = Body3(unisolated: IsolatedBody3(body)).call
        self.init(owner: owner, delivery: .isolated(body.isolation)) { message, owner, frame in
            lend(owner, message.assumingMemoryBound(to: Message.self)) { (owner: Owner, message: borrowing Message) in
                plain(owner, message, PostInfo(frame))
            }
        }
    }

    @inlinable
    init<Owner: AnyObject & Sendable, Message: Sendable, Context: Sendable>(
        owner: Owner,
        context: Context,
        contextual body: @escaping @isolated(any) @Sendable (Owner, Message, Context) -> Void
    ) {
        let plain = Body3(unisolated: IsolatedBody3(body)).call
        self.init(owner: owner, delivery: .isolated(body.isolation)) { message, owner, _ in
            lend(owner, message.assumingMemoryBound(to: Message.self)) { (owner: Owner, message: borrowing Message) in
                plain(owner, message, context)
            }
        }
    }

    @inlinable
    init<Owner: AnyObject & Sendable, Message: Sendable>(
        owner: Owner,
        throwingBody body: @escaping @isolated(any) @Sendable (Owner, Message) throws -> Void
    ) {
        let plain = ThrowingBody2(unisolated: ThrowingIsolatedBody2(body)).call
        self.init(owner: owner, delivery: .isolated(body.isolation)) { message, owner, frame in
            lend(owner, message.assumingMemoryBound(to: Message.self)) { (owner: Owner, message: borrowing Message) in
                do { try plain(owner, message) } catch { PostFrame.listenerThrew(error, in: frame) }
            }
        }
    }

    @inlinable
    init<Owner: AnyObject & Sendable, Message: Sendable>(
        owner: Owner,
        throwingInformed body: @escaping @isolated(any) @Sendable (Owner, Message, PostInfo) throws -> Void
    ) {
        let plain = ThrowingBody3(unisolated: ThrowingIsolatedBody3(body)).call
        self.init(owner: owner, delivery: .isolated(body.isolation)) { message, owner, frame in
            lend(owner, message.assumingMemoryBound(to: Message.self)) { (owner: Owner, message: borrowing Message) in
                do { try plain(owner, message, PostInfo(frame)) } catch { PostFrame.listenerThrew(error, in: frame) }
            }
        }
    }

    @inlinable
    init<Owner: AnyObject & Sendable, Message: Sendable, Context: Sendable>(
        owner: Owner,
        context: Context,
        throwingContextual body: @escaping @isolated(any) @Sendable (Owner, Message, Context) throws -> Void
    ) {
        let plain = ThrowingBody3(unisolated: ThrowingIsolatedBody3(body)).call
        self.init(owner: owner, delivery: .isolated(body.isolation)) { message, owner, frame in
            lend(owner, message.assumingMemoryBound(to: Message.self)) { (owner: Owner, message: borrowing Message) in
                do { try plain(owner, message, context) } catch { PostFrame.listenerThrew(error, in: frame) }
            }
        }
    }

    @inlinable
    init<Owner: AnyObject & Sendable, Message: Sendable>(
        owner: Owner,
        asyncBody body: @escaping @isolated(any) @Sendable (Owner, Message) async throws -> Void
    ) {
        self.init(
            owner: owner,
            on: .closure(body.isolation),
            async: { message, owner, _ in
                // The list hands back the object registered.
                let owner = unsafeDowncast(owner.unsafelyUnwrapped, to: Owner.self)
                let message = message.assumingMemoryBound(to: Message.self).pointee
                try await body(owner, message)
            }
        )
    }

    @inlinable
    init<Owner: AnyObject & Sendable, Message: Sendable>(
        owner: Owner,
        asyncInformed body: @escaping @isolated(any) @Sendable (Owner, Message, PostInfo) async throws -> Void
    ) {
        self.init(
            owner: owner,
            on: .closure(body.isolation),
            async: { message, owner, info in
                // The list hands back the object registered.
                let owner = unsafeDowncast(owner.unsafelyUnwrapped, to: Owner.self)
                let message = message.assumingMemoryBound(to: Message.self).pointee
                try await body(owner, message, info)
            }
        )
    }

    @inlinable
    init<Owner: AnyObject & Sendable, Message: Sendable, Context: Sendable>(
        owner: Owner,
        context: Context,
        asyncContextual body: @escaping @isolated(any) @Sendable (Owner, Message, Context) async throws -> Void
    ) {
        self.init(
            owner: owner,
            on: .closure(body.isolation),
            async: { message, owner, _ in
                // The list hands back the object registered.
                let owner = unsafeDowncast(owner.unsafelyUnwrapped, to: Owner.self)
                let message = message.assumingMemoryBound(to: Message.self).pointee
                try await body(owner, message, context)
            }
        )
    }

    @inlinable
    init<Owner: AnyObject & Sendable, Message: Sendable>(
        owner: Owner,
        queue: DispatchQueue,
        body: @escaping @Sendable (Owner, Message) throws -> Void
    ) {
        self.init(owner: owner, delivery: .queue(queue)) { message, owner, frame in
            lend(owner, message.assumingMemoryBound(to: Message.self)) { (owner: Owner, message: borrowing Message) in
                do { try body(owner, message) } catch { PostFrame.listenerThrew(error, in: frame) }
            }
        }
    }

    @inlinable
    init<Owner: AnyObject & Sendable, Message: Sendable>(
        owner: Owner,
        queue: DispatchQueue,
        informed body: @escaping @Sendable (Owner, Message, PostInfo) throws -> Void
    ) {
        self.init(owner: owner, delivery: .queue(queue)) { message, owner, frame in
            lend(owner, message.assumingMemoryBound(to: Message.self)) { (owner: Owner, message: borrowing Message) in
                do { try body(owner, message, PostInfo(frame)) } catch { PostFrame.listenerThrew(error, in: frame) }
            }
        }
    }

    @inlinable
    init<Owner: AnyObject & Sendable, Message: Sendable, Context: Sendable>(
        owner: Owner,
        queue: DispatchQueue,
        context: Context,
        contextual body: @escaping @Sendable (Owner, Message, Context) throws -> Void
    ) {
        self.init(owner: owner, delivery: .queue(queue)) { message, owner, frame in
            lend(owner, message.assumingMemoryBound(to: Message.self)) { (owner: Owner, message: borrowing Message) in
                do { try body(owner, message, context) } catch { PostFrame.listenerThrew(error, in: frame) }
            }
        }
    }

    @inlinable
    init<Owner: Actor, Message: Sendable>(
        actor owner: Owner,
        throwingBody body: @escaping @Sendable (isolated Owner, Message) throws -> Void
    ) {
        let plain = ThrowingActorBody2(unisolated: ThrowingIsolatedActorBody2(body)).call
        self.init(owner: owner, delivery: .owner) { message, owner, frame in
            lend(owner, message.assumingMemoryBound(to: Message.self)) { (owner: Owner, message: borrowing Message) in
                do { try plain(owner, message) } catch { PostFrame.listenerThrew(error, in: frame) }
            }
        }
    }

    @inlinable
    init<Owner: Actor, Message: Sendable>(
        actor owner: Owner,
        throwingInformed body: @escaping @Sendable (isolated Owner, Message, PostInfo) throws -> Void
    ) {
        let plain = ThrowingActorBody3(unisolated: ThrowingIsolatedActorBody3(body)).call
        self.init(owner: owner, delivery: .owner) { message, owner, frame in
            lend(owner, message.assumingMemoryBound(to: Message.self)) { (owner: Owner, message: borrowing Message) in
                do { try plain(owner, message, PostInfo(frame)) } catch { PostFrame.listenerThrew(error, in: frame) }
            }
        }
    }

    @inlinable
    init<Owner: Actor, Message: Sendable, Context: Sendable>(
        actor owner: Owner,
        context: Context,
        throwingContextual body: @escaping @Sendable (isolated Owner, Message, Context) throws -> Void
    ) {
        let plain = ThrowingActorBody3(unisolated: ThrowingIsolatedActorBody3(body)).call
        self.init(owner: owner, delivery: .owner) { message, owner, frame in
            lend(owner, message.assumingMemoryBound(to: Message.self)) { (owner: Owner, message: borrowing Message) in
                do { try plain(owner, message, context) } catch { PostFrame.listenerThrew(error, in: frame) }
            }
        }
    }

    @inlinable
    init<Owner: Actor, Message: Sendable>(
        actor owner: Owner,
        asyncBody body: @escaping @Sendable (isolated Owner, Message) async throws -> Void
    ) {
        self.init(
            owner: owner,
            on: .owner,
            async: { message, owner, _ in
                // The list hands back the object registered.
                let owner = unsafeDowncast(owner.unsafelyUnwrapped, to: Owner.self)
                let message = message.assumingMemoryBound(to: Message.self).pointee
                try await body(owner, message)
            }
        )
    }

    @inlinable
    init<Owner: Actor, Message: Sendable>(
        actor owner: Owner,
        asyncInformed body: @escaping @Sendable (isolated Owner, Message, PostInfo) async throws -> Void
    ) {
        self.init(
            owner: owner,
            on: .owner,
            async: { message, owner, info in
                // The list hands back the object registered.
                let owner = unsafeDowncast(owner.unsafelyUnwrapped, to: Owner.self)
                let message = message.assumingMemoryBound(to: Message.self).pointee
                try await body(owner, message, info)
            }
        )
    }

    @inlinable
    init<Owner: Actor, Message: Sendable, Context: Sendable>(
        actor owner: Owner,
        context: Context,
        asyncContextual body: @escaping @Sendable (isolated Owner, Message, Context) async throws -> Void
    ) {
        self.init(
            owner: owner,
            on: .owner,
            async: { message, owner, _ in
                // The list hands back the object registered.
                let owner = unsafeDowncast(owner.unsafelyUnwrapped, to: Owner.self)
                let message = message.assumingMemoryBound(to: Message.self).pointee
                try await body(owner, message, context)
            }
        )
    }

    @inlinable
    init<Message: Sendable>(
        body: @escaping @isolated(any) @Sendable (Message) -> Void
    ) {
        let plain = Body1(unisolated: IsolatedBody1(body))
        self.init(owner: nil, isolatedTo: body.isolation, bare: BareCall(plain))
    }

    @inlinable
    init<Message: Sendable>(
        informed body: @escaping @isolated(any) @Sendable (Message, PostInfo) -> Void
    ) {
        let plain = Body2(unisolated: IsolatedBody2(body)).call
        self.init(owner: nil, delivery: .isolated(body.isolation)) { message, _, frame in
            lend(message.assumingMemoryBound(to: Message.self)) { (message: borrowing Message) in
                plain(message, PostInfo(frame))
            }
        }
    }

    @inlinable
    init<Message: Sendable>(
        throwingBody body: @escaping @isolated(any) @Sendable (Message) throws -> Void
    ) {
        let plain = ThrowingBody1(unisolated: ThrowingIsolatedBody1(body)).call
        self.init(owner: nil, delivery: .isolated(body.isolation)) { message, _, frame in
            lend(message.assumingMemoryBound(to: Message.self)) { (message: borrowing Message) in
                do { try plain(message) } catch { PostFrame.listenerThrew(error, in: frame) }
            }
        }
    }

    @inlinable
    init<Message: Sendable>(
        throwingInformed body: @escaping @isolated(any) @Sendable (Message, PostInfo) throws -> Void
    ) {
        let plain = ThrowingBody2(unisolated: ThrowingIsolatedBody2(body)).call
        self.init(owner: nil, delivery: .isolated(body.isolation)) { message, _, frame in
            lend(message.assumingMemoryBound(to: Message.self)) { (message: borrowing Message) in
                do { try plain(message, PostInfo(frame)) } catch { PostFrame.listenerThrew(error, in: frame) }
            }
        }
    }

    @inlinable
    init<Message: Sendable>(
        asyncBody body: @escaping @isolated(any) @Sendable (Message) async throws -> Void
    ) {
        self.init(
            owner: nil,
            on: .closure(body.isolation),
            async: { message, _, _ in
                let message = message.assumingMemoryBound(to: Message.self).pointee
                try await body(message)
            }
        )
    }

    @inlinable
    init<Message: Sendable>(
        asyncInformed body: @escaping @isolated(any) @Sendable (Message, PostInfo) async throws -> Void
    ) {
        self.init(
            owner: nil,
            on: .closure(body.isolation),
            async: { message, _, info in
                let message = message.assumingMemoryBound(to: Message.self).pointee
                try await body(message, info)
            }
        )
    }

    @inlinable
    init<Message: Sendable>(
        queue: DispatchQueue,
        body: @escaping @Sendable (Message) throws -> Void
    ) {
        self.init(owner: nil, delivery: .queue(queue)) { message, _, frame in
            lend(message.assumingMemoryBound(to: Message.self)) { (message: borrowing Message) in
                do { try body(message) } catch { PostFrame.listenerThrew(error, in: frame) }
            }
        }
    }

    @inlinable
    init<Message: Sendable>(
        queue: DispatchQueue,
        informed body: @escaping @Sendable (Message, PostInfo) throws -> Void
    ) {
        self.init(owner: nil, delivery: .queue(queue)) { message, _, frame in
            lend(message.assumingMemoryBound(to: Message.self)) { (message: borrowing Message) in
                do { try body(message, PostInfo(frame)) } catch { PostFrame.listenerThrew(error, in: frame) }
            }
        }
    }
}
