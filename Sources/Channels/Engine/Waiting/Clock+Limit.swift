extension Clock<Duration> {
    /// Sleeps for a time, and not longer than a limit can be.
    package func sleep(atMost time: Duration) async throws { try await sleep(for: time.asLimit) }
}
