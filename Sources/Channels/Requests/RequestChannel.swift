internal import Synchronization

/// A channel for requests: one object asks, others respond.
///
/// ```swift
/// let prices = RequestChannel<String, Int>()
/// prices.respond(self) { me, item in await me.price(of: item) }
/// let price = try await prices.ask("tea", timeout: .seconds(1))
/// ```
///
/// ## Behavior
/// - `ask` calls the responder with the highest priority (the first registered, if several share it), and throws what
///   the responder throws.
/// - Each call runs in its own task, which inherits the asker's priority and task-local values. Calls may overlap, and
///   a responder may itself ask.
/// - Owners are held weakly, but strongly during a call.
/// - If the asker's task is cancelled, `ask` throws `CancellationError` at once, whatever the responder does.
public final class RequestChannel<Request: Sendable, Response: Sendable>: ListenerContainer, Sendable {
    typealias Answer = @Sendable (AnyObject?, Request) async throws -> Response

    /// The maximum number of calls that may wait for each other.
    private static var deepest: Int { 1_024 }

    let list: ListenerList

    /// Creates a channel without responders.
    public convenience init(onFault: FaultHandler? = nil) {
        self.init(name: nil, faults: .with(onFault))
    }

    init(name: String?, faults: FaultReporter) {
        list = ListenerList(
            layout: MessageLayout(Responder?.self),
            of: Self.self,
            kind: .requests,
            name: name,
            faults: faults
        )
    }

    deinit { list.close() }

    /// An implementation detail of ``ListenerContainer``.
    public var _listeners: _ListenerTable { _ListenerTable(list, .requests(Request.self, Response.self)) }

    /// Registers a responder that belongs to an object.
    ///
    /// The closure inherits the isolation of the code around it. Each request is handled in its own task, so calls may
    /// overlap. An error is thrown to the asker and raises no fault. A paused responder is skipped. A responder that
    /// ends still completes the calls in progress.
    @discardableResult
    public func respond<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        priority: ListenerPriority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Owner, Request) async throws -> Response
    ) -> ListenerToken {
        register(owner, ListenerOptions(priority, fileID, line)) { owner, request in
            guard let owner else { fatalError("defect of swift-channels: a responder was called without its owner") }
            // The list passes in the object that was registered.
            return try await body(known(owner, as: Owner.self), request)
        }
    }

    /// Registers a responder that belongs to an actor and runs on it.
    ///
    /// Calls may overlap while one is suspended. An error is thrown to the asker and raises no fault.
    @discardableResult
    public func respond<Owner: Actor>(
        _ owner: Owner,
        priority: ListenerPriority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (isolated Owner, Request) async throws -> Response
    ) -> ListenerToken {
        register(owner, ListenerOptions(priority, fileID, line)) { owner, request in
            guard let owner else { fatalError("defect of swift-channels: a responder was called without its owner") }
            // The list passes in the object that was registered.
            return try await body(known(owner, as: Owner.self), request)
        }
    }

    /// Registers a responder that lives as long as the token returned.
    ///
    /// The closure inherits the isolation of the code around it. Calls may overlap. An error is thrown to the
    /// asker and raises no fault.
    public func respond(
        priority: ListenerPriority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        @_inheritActorContext _ body: @escaping @isolated(any) @Sendable (Request) async throws -> Response
    ) -> ListenerToken {
        register(nil, ListenerOptions(priority, fileID, line)) { _, request in try await body(request) }
    }

    /// Asks the responder with the highest priority.
    /// - Parameter timeout: How long to wait; nil for no limit. The default of five minutes is only a safety net
    ///   against a responder that never answers: pass the time that the answer is worth waiting for. Time during which
    ///   the machine sleeps does not count. If the timeout is zero or less, no responder is asked.
    /// - Throws: What the responder throws; ``ChannelError/Code/noResponder``; ``ChannelError/Code/recursionLimit`` if
    ///   1,024 calls wait for each other; ``ChannelError/Code/timedOut`` or `CancellationError`, both without delay. In
    ///   both cases the responder's task is cancelled, but not awaited.
    /// - Complexity: O(1), plus one step for each paused or deallocated responder before the one asked.
    public func ask(
        _ request: Request,
        timeout: Duration? = .seconds(300),
        fileID: StaticString = #fileID,
        line: UInt = #line
    ) async throws -> Response {
        try Task.checkCancellation()
        if let timeout, timeout <= .zero { throw timedOut(after: timeout) }
        let trace = list.activeInstrument?.traceRequest(Request.self, on: list, at: PackedSite(fileID, line))
        if let error = recursionError { throw error }
        guard let responder = responders(most: 1).first else {
            list.activeInstrument?.noteUnreceived()
            throw ChannelError(
                .noResponder,
                name: list.name,
                "nobody responds on \(nameAndType), or every responder is paused"
            )
        }
        return try await answer(of: responder, to: request, trace, timeout: timeout)
    }

    /// Asks every responder concurrently, and waits until all have answered or the time is up.
    ///
    /// When the time is up, every missing answer becomes a failure with ``ChannelError/Code/timedOut``; if the task is
    /// cancelled, with a `CancellationError`. This method then returns without delay: the responders' tasks are
    /// cancelled, but not awaited.
    ///
    /// - Parameter timeout: How long to wait; nil for no limit. The default of five minutes is only a safety net
    ///   against a responder that never answers: pass the time that the answer is worth waiting for. Time during which
    ///   the machine sleeps does not count. If the timeout is zero or less, no responder is asked.
    /// - Returns: The answers in the order of priority; empty if there are no responders. A single failure if 1,024
    ///   calls wait for each other (``ChannelError/Code/recursionLimit``), or if the timeout is zero or less.
    public func askAll(
        _ request: Request,
        timeout: Duration? = .seconds(300),
        fileID: StaticString = #fileID,
        line: UInt = #line
    ) async -> [Result<Response, any Error>] {
        if let timeout, timeout <= .zero { return [.failure(timedOut(after: timeout))] }
        let trace = list.activeInstrument?.traceRequest(Request.self, on: list, at: PackedSite(fileID, line))
        if let error = recursionError { return [.failure(error)] }
        let responders = responders(most: .max)
        guard !responders.isEmpty else {
            list.activeInstrument?.noteUnreceived()
            return []
        }
        return await withTaskGroup(of: (Int, Result<Response, any Error>).self) { group in
            for (index, responder) in responders.enumerated() {
                group.addTask {
                    do {
                        let answer = try await self.answer(of: responder, to: request, trace, timeout: timeout)
                        return (index, .success(answer))
                    } catch { return (index, .failure(error)) }
                }
            }
            var answers: [Result<Response, any Error>?] = Array(repeating: nil, count: responders.count)
            for await (index, answer) in group { answers[index] = answer }
            return answers.map { $0! }  // every index was added to the group once
        }
    }

    private var recursionError: ChannelError? {
        guard let call = ListenerChain.call, call.depth >= Self.deepest, call.liveDepth >= Self.deepest else {
            return nil
        }
        let detail = "asked inside \(Self.deepest) calls that wait for each other, the limit"
        return ChannelError(.recursionLimit, name: list.name, "\(list.displayName) was \(detail)")
    }

    struct Responder: Sendable {
        let answer: Answer
        let entry: ListenerEntry
        let calls: ResponderCalls
        let owner = HeldOwner()
    }

    /// The owner held for one call. Written before the call's task begins, then used by that task only.
    final class HeldOwner: @unchecked Sendable {  // see above
        var object: (any AnyObject & Sendable)?
    }

    private func register(
        _ owner: (any AnyObject & Sendable)?,
        _ options: ListenerOptions,
        _ answer: @escaping Answer
    ) -> ListenerToken {
        let calls = ResponderCalls()
        let call = BareCall { place, _, frame in
            // The entry is being called, so it is alive.
            guard let entry = frame.pointee.listener?.object else { return }
            place.mutate(as: Responder?.self) { place in
                place = Responder(answer: answer, entry: entry, calls: calls)
            }
        }
        return list.register(Registration(owner, .responder(calls), options, call))
    }

    /// Returns the first responders in order, with their owners retained.
    private func responders(most: Int) -> [Responder] {
        var found: [Responder] = []
        var frame = PostFrame(list)
        frame.lend { frame in
            list.visitEntries { entry in
                guard !entry.hasEnded, !entry.isPaused else { return true }
                let owner = entry.owner
                guard owner != nil || !entry.hasOwner else { return true }
                var responder: Responder?
                frame.pointee.listener = Unretained(entry)
                if list.isObserved { entry.route?.borrow { $0.countDirectCall() } }
                MessageAddress.lending(mutable: &responder) { entry.run($0, owner.map { OwnerReference($0) }, frame) }
                guard let responder else { return true }
                responder.owner.object = owner.map { sendable($0) }
                responder.calls.begin()
                found.append(responder)
                return found.count < most
            }
        }
        frame.end()
        return found
    }

    /// Runs a responder in its own task, so that the asker can return when it is cancelled or times out.
    private func answer(
        of responder: Responder,
        to request: Request,
        _ trace: (any MessageTrace)?,
        timeout: Duration?
    ) async throws -> Response {
        let first = FirstResult<Response>()
        let chain = ListenerChain(responder.entry, upstream: ListenerChain.call)
        // Unstructured, because a task group would wait for a responder that ignores cancellation. It
        // inherits the priority and task-local values of the asker.
        let task = Task {
            var result: Result<Response, any Error> = .failure(CancellationError())
            let call = {
                do {
                    let answer = try await ListenerChain.$current.withValue(chain) {
                        try await responder.answer(responder.owner.object, request)
                    }
                    result = .success(answer)
                } catch { result = .failure(error) }
            }
            if let trace {
                await trace.deliver(to: responder.entry, isolation: nil, call)
            } else {
                await call()
            }
            chain.endCall()
            // Released before the asker, or a task that waits for the call, continues.
            responder.owner.object = nil
            responder.calls.end()
            first.finish(result)
        }
        // Cancelled when this call ends.
        let timer = timeout.map { timeout in
            Timeout(after: timeout) {
                first.finish(.failure(self.timedOut(after: timeout)))
                task.cancel()
            }
        }
        defer { extendLifetime(timer) }
        return try await withTaskCancellationHandler {
            try await first.value()
        } onCancel: {
            // Before the responder is cancelled, because it may answer at once.
            first.finish(.failure(CancellationError()))
            task.cancel()
        }
    }

    private func timedOut(after timeout: Duration) -> ChannelError {
        ChannelError(.timedOut, name: list.name, "\(nameAndType) gave no answer within \(timeout)")
    }

    private var nameAndType: String {
        "\(name.map { "'\($0)', a " } ?? "")RequestChannel<\(Request.self), \(Response.self)>"
    }
}
