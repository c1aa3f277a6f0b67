internal import Synchronization

/// A channel that answers: one object asks, others respond.
///
/// ```swift
/// let prices = RequestChannel<Item, Price>()
/// prices.respond(self) { me, item in await me.price(of: item) }
/// let price = try await prices.ask(item)
/// ```
///
/// ## Behavior
///
/// - `ask` calls the responder of the highest priority, the one registered first among equals; what it throws is thrown to the asker.
/// - Responders are ordinary async functions: they run in the asker's task, calls are not serialised, and a responder may ask in turn.
/// - Owners are held weakly, and strongly during a call.
/// - Where the asker's task is cancelled, `ask` throws `CancellationError` at once, whether or not the responder listens.
public final class RequestChannel<Request: Sendable, Response: Sendable>: Sendable {
    typealias Answer = @Sendable (AnyObject?, Request) async throws -> Response

    let list: ListenerList

    /// Creates a channel without responders.
    public convenience init(onFault: FaultHandler? = nil, diagnostics: Diagnostics = .off) {
        self.init(name: nil, faults: .with(onFault), diagnostics: diagnostics)
    }

    init(name: String?, faults: FaultReporter, diagnostics: Diagnostics) {
        list = ListenerList(layout: MessageLayout(Responder.self), name: name, faults: faults, counts: diagnostics == .counts)
    }

    deinit {
        list.close()
    }

    /// The name under which a switchboard hands the channel out; nil where it has none.
    public var name: String? { list.name }

    /// How many responders there are.
    ///
    /// - Complexity: O(*n*): responders whose owner has gone are taken out first.
    public var responderCount: Int { list.activeListenerCount }

    /// Whether nobody responds.
    public var isEmpty: Bool { responderCount == 0 }

    /// Ends every responder of an owner.
    public func removeResponders(of owner: AnyObject) {
        list.removeListeners(of: owner)
    }

    // MARK: Responding

    /// Registers a responder that belongs to an object.
    ///
    /// The closure has the isolation it is written in: on a main-actor owner it runs on the main actor.
    @discardableResult
    public func respond<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        priority: Priority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Owner, Request) async throws -> Response
    ) -> ListenerToken {
        register(owner, priority, PackedSite(fileID, line)) { owner, request in
            // The list hands back the object registered.
            try await body(unsafeDowncast(owner.unsafelyUnwrapped, to: Owner.self), request)
        }
    }

    /// Registers a responder that belongs to an actor and runs on it.
    @discardableResult
    public func respond<Owner: Actor>(
        _ owner: Owner,
        priority: Priority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (isolated Owner, Request) async throws -> Response
    ) -> ListenerToken {
        register(owner, priority, PackedSite(fileID, line)) { owner, request in
            // The list hands back the object registered.
            try await body(unsafeDowncast(owner.unsafelyUnwrapped, to: Owner.self), request)
        }
    }

    /// Registers a responder that lives as long as the token returned.
    public func respond(
        priority: Priority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Request) async throws -> Response
    ) -> ListenerToken {
        register(nil, priority, PackedSite(fileID, line)) { _, request in try await body(request) }
    }

    // MARK: Asking

    /// Asks the responder of the highest priority.
    ///
    /// - Throws: What the responder throws; ``ChannelError/Code/noResponder`` where there is none; `CancellationError`, at once, where the task
    ///   is cancelled.
    public func ask(_ request: Request) async throws -> Response {
        try Task.checkCancellation()
        countAsk()
        guard let responder = responders(most: 1).first else {
            throw ChannelError(
                .noResponder,
                name: list.name,
                "nobody responds on \(list.name.map { "'\($0)', a " } ?? "")RequestChannel<\(Request.self), \(Response.self)>"
            )
        }
        return try await answer(of: responder, to: request)
    }

    /// Asks every responder, all at once.
    ///
    /// - Returns: The answers in the order of priority; none where nobody responds.
    public func askAll(_ request: Request) async -> [Result<Response, any Error>] {
        countAsk()
        let responders = responders(most: .max)
        guard !responders.isEmpty else { return [] }
        return await withTaskGroup(of: (Int, Result<Response, any Error>).self) { group in
            for (index, responder) in responders.enumerated() {
                group.addTask {
                    do {
                        return (index, .success(try await self.answer(of: responder, to: request)))
                    } catch {
                        return (index, .failure(error))
                    }
                }
            }
            var answers: [Result<Response, any Error>?] = Array(repeating: nil, count: responders.count)
            for await (index, answer) in group { answers[index] = answer }
            return answers.map { $0! }  // every index was added to the group once
        }
    }

    // MARK: Carrying out

    private func countAsk() {
        list.counter?.posts.wrappingAdd(1, ordering: .relaxed)
    }

    /// A responder and the owner held for the call.
    struct Responder: Sendable {
        let answer: Answer
        let owner: (any AnyObject & Sendable)?
        let entry: ListenerEntry
        let calls: ResponderCalls
    }

    private func register(_ owner: (any AnyObject & Sendable)?, _ priority: Priority, _ site: PackedSite, _ answer: @escaping Answer) -> ListenerToken
    {
        let calls = ResponderCalls()
        let call: ListenerCall = { place, owner, frame in
            // The place is that of an optional responder. The list passes the address of the owner registered, which is Sendable.
            let owner = owner.map { unsafeBitCast(Unmanaged<AnyObject>.fromOpaque($0).takeUnretainedValue(), to: (any AnyObject & Sendable).self) }
            // The list of a request channel hands on the address of such a place, see `responders`.
            // The entry is the one that is being called, and held for that.
            guard let entry = frame.pointee.listener?.takeUnretainedValue() else { return }
            place.assumingMemoryBound(to: Responder?.self).pointee = Responder(answer: answer, owner: owner, entry: entry, calls: calls)
        }
        let entry = ListenerEntry(
            bits: ListenerEntry.general | (owner == nil ? 0 : ListenerEntry.owned),
            owner: owner,
            mailbox: Mailbox(.responder(calls), list.layout, .unbounded),
            site: site,
            call: BareCall(call: call)
        )
        list.add(entry, priority: priority.rawValue)
        return ListenerToken(entry)
    }

    /// The first responders in order, their owners held.
    private func responders(most: Int) -> [Responder] {
        var found: [Responder] = []
        var frame = PostFrame(list: list, sender: nil, echo: true, isolation: nil)
        withUnsafeMutablePointer(to: &frame) { frame in
            list.forEachEntry(includingInterceptors: false) { entry in
                guard found.count < most, entry.isActive, !entry.isPaused else { return }
                let owner = entry.owner
                guard owner != nil || !entry.hasOwner else { return }
                var responder: Responder?
                frame.pointee.begins(entry)
                if list.counter != nil { entry.mailbox?.countDirectCall() }
                withUnsafeMutablePointer(to: &responder) { place in
                    entry.run(UnsafeMutableRawPointer(place), owner.map { UnsafeRawPointer(addressOf: $0) }, frame)
                }
                withExtendedLifetime(owner) {}
                guard let responder else { return }
                responder.calls.begin()
                found.append(responder)
            }
        }
        frame.end()
        return found
    }

    /// Runs a responder in a task of its own, so that the asker can leave when it is cancelled.
    private func answer(of responder: Responder, to request: Request) async throws -> Response {
        let exchange = Exchange<Response>()
        let chain = ListenerChain(responder.entry, upstream: ListenerChain.calls)
        // Unstructured, because a task group would wait for a responder that does not listen to cancellation. It inherits the priority
        // and task-local values of the asker.
        let task = Task {
            let result: Result<Response, any Error>
            do {
                result = .success(try await ListenerChain.$current.withValue(chain) { try await responder.answer(responder.owner, request) })
            } catch {
                result = .failure(error)
            }
            chain.callHasEnded()
            responder.calls.end()
            exchange.finish(result)
        }
        return try await withTaskCancellationHandler {
            try await exchange.result()
        } onCancel: {
            task.cancel()
            exchange.finish(.failure(CancellationError()))
        }
    }
}

/// Where an asker waits for the first of an answer and its own cancellation.
///
/// Guarded by the mutex; the continuation is resumed without it.
private final class Exchange<Response: Sendable>: Sendable {
    private struct State {
        var result: Result<Response, any Error>?
        var continuation: CheckedContinuation<Response, any Error>?
    }

    private let state = Locked(State())

    func finish(_ result: Result<Response, any Error>) {
        let continuation = state.withLock { state -> CheckedContinuation<Response, any Error>? in
            guard state.result == nil else { return nil }
            state.result = result
            defer { state.continuation = nil }
            return state.continuation
        }
        continuation?.resume(with: result)
    }

    func result() async throws -> Response {
        try await withCheckedThrowingContinuation { continuation in
            let result = state.withLock { state -> Result<Response, any Error>? in
                if state.result == nil { state.continuation = continuation }
                return state.result
            }
            if let result { continuation.resume(with: result) }
        }
    }
}
