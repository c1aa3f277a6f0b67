/// Receives notifications of a list, for the channel or switchboard built on it. Called without locks. May run user
/// code.
protocol ListenerListDelegate: AnyObject, Sendable {
    /// Called when a listener was added, removed, paused or resumed.
    func didChangeListening(in list: ListenerList)

    /// Called when the channel was deallocated or finished.
    func didClose(_ list: ListenerList)

    /// Suspends until no post can reach the listener of a hub, which has ended.
    func waitForForwarders() async

    /// Called when a paused listener is to be resumed. Returns true if the delegate does so.
    func resume(_ entry: ListenerEntry) -> Bool
}

extension ListenerListDelegate {
    func didChangeListening(in list: ListenerList) {}
    func didClose(_ list: ListenerList) {}
    func waitForForwarders() async {}
    func resume(_ entry: ListenerEntry) -> Bool { false }
}
