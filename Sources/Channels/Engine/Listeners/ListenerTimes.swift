/// How long messages are on their way to a listener, and how long it takes, while its channel is traced.
final class ListenerTimes: Sendable {
    /// From the post to the call.
    let waited = TimeCounts()
    /// In the listener.
    let spent = TimeCounts()

    func reset() {
        waited.reset()
        spent.reset()
    }
}
