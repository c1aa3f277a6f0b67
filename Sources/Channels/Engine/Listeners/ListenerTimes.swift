/// How long messages take to reach a listener, and the listener to run, while its channel is traced.
final class ListenerTimes: Sendable {
    /// From the post to the call.
    let waited = TimeCounts()
    let spent = TimeCounts()

    func reset() {
        waited.reset()
        spent.reset()
    }
}
