extension Clock<Duration> {
    /// Sleeps for a duration, but not longer than the longest limit (``Duration/asLimit``).
    package func sleep(atMost time: Duration) async throws { try await sleep(for: time.asLimit) }
}
