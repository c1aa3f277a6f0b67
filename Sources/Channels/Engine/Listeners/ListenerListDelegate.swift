/// What a list tells the channel or switchboard built on it. Called without locks; may run user code.
protocol ListenerListDelegate: AnyObject, Sendable {
    /// A listener was added or removed.
    func listeningChanged(in list: ListenerList)

    /// The channel was deallocated.
    func listHasClosed(_ list: ListenerList)

    /// A paused listener is to be resumed. Returns true if the delegate does so.
    func resume(_ entry: ListenerEntry) -> Bool
}

extension ListenerListDelegate {
    func listeningChanged(in list: ListenerList) {}
    func listHasClosed(_ list: ListenerList) {}
    func resume(_ entry: ListenerEntry) -> Bool { false }
}
