/// Runs a body, and cancels it when a time has passed. Returns when it has returned.
func withTimeLimit(
    _ time: Duration,
    clock: any Clock<Duration>,
    _ body: @escaping @Sendable () async -> Void
) async {
    await withTaskGroup(of: Void.self) { group in
        group.addTask { try? await clock.sleep(for: time) }
        group.addTask { await body() }
        await group.next()
        group.cancelAll()
    }
}
