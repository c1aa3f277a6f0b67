#if SQLite
internal import Channels
internal import ChannelsBridge
internal import GRDB

extension SQLiteSession {
    /// - Parameter start: For the first subscription of a connection.
    func subscribe(
        _ pattern: ChannelPattern,
        group: String?,
        from start: ReplayStart = .new,
        _ queue: HandlerQueue<InboundMessage>
    ) async throws {
        let epoch = file.epoch
        let position = try await file.read { try SQLiteSchema.position(of: start, $0) }
        await betweenLooks { state in
            // In a file that was restored meanwhile, the position may be that of a message yet to come.
            let last = state.epoch > epoch ? state.lastNumber : position
            if state.plain.isEmpty && state.durable.isEmpty { state.lastNumber = last }
            state.plain.append(Plain(pattern: pattern, group: group.map(ExactText.init), after: last, queue: queue))
        }
        if group != nil { try await joinGroups() }
    }

    func subscribe(_ name: SQLiteDurableName) async throws {
        let member = try await join()
        let last = try await file.write { db in
            try name.join(member, db)
            return try SQLiteSchema.lastNumber(db)
        }
        await betweenLooks { state in
            if state.plain.isEmpty && state.durable.isEmpty { state.lastNumber = last }
            state.durable.append(name)
        }
    }

    func watch(_ subject: String, _ queue: HandlerQueue<StoredValue>) async throws {
        let value = try await file.read { try SQLiteValues.find(subject, $0) }
        if let value {
            queue.enqueue(state.withLock { value.raised(&$0.revisions) })
            queue.deliver()
        }
        await betweenLooks { state in
            let seen = Int64(value?.revision ?? 0)
            state.watched.append(
                Watched(subject: ExactText(subject), queue: queue, seen: seen, body: value?.message.body)
            )
        }
    }

    /// Ends the subscriptions that are not durable, and waits for their handlers.
    func drain(timeout: Duration) async {
        let queues = Locked<[HandlerQueue<InboundMessage>]>([])
        let hasGroups = Locked(false)
        await betweenLooks { state in
            queues.withLock { $0 = state.plain.map(\.queue) }
            hasGroups.withLock { $0 = state.plain.contains { $0.group != nil } }
            (state.plain, state.shared) = ([], [:])
        }
        for queue in queues.withLock({ $0 }) { await queue.finish() }
        guard hasGroups.withLock({ $0 }) else { return }
        let (holder, left) = (holder, FirstResult<Void>())
        file.settle { db in
            try db.execute(sql: "DELETE FROM channels_groups WHERE member = ?", arguments: [holder])
        } _: { _ in
            left.finish(.success(()))
        }
        // Done later if the file is locked: its turns go to others soon.
        try? await left.value(timeout: timeout, clock: ContinuousClock(), else: BridgeError(.timedOut))
    }

    /// Changes who subscribes, between two looks at the file: otherwise a message could be passed over for one who
    /// comes during a look. Then looks.
    private func betweenLooks(_ change: @escaping @Sendable (inout State) -> Void) async {
        await withCheckedContinuation { continuation in
            let result = commands.yield(
                .run {
                    self.state.withLock { state in
                        change(&state)
                        state.waking.lastActivity = .now
                    }
                    continuation.resume()
                }
            )
            if case .terminated = result { continuation.resume() }
        }
        ring()
    }
}
#endif
