/// Receives what a list tells the channel or switchboard built on it, without locks. May run user code.
protocol ListenerListDelegate: AnyObject, Sendable {
    /// Called when a listener was added or removed.
    func listeningChanged(in list: ListenerList)

    /// Called when the channel was deallocated.
    func listHasClosed(_ list: ListenerList)

    /// Called when a paused listener is to be resumed. Returns true if the delegate does so.
    func takesOverResuming(_ entry: ListenerEntry) -> Bool
}

extension ListenerListDelegate {
    func listeningChanged(in list: ListenerList) {}
    func listHasClosed(_ list: ListenerList) {}
    func takesOverResuming(_ entry: ListenerEntry) -> Bool { false }
}
