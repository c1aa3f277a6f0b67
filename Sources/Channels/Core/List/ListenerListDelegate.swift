/// What a list tells those who build on it. Called without locks; may run user code.
protocol ListenerListDelegate: AnyObject, Sendable {
    /// A listener has come or gone.
    func listeningChanged(in list: ListenerList)

    /// The channel has gone.
    func listHasClosed(_ list: ListenerList)

    /// A paused listener is to hear messages again. True where the delegate sees to it.
    func resume(_ entry: ListenerEntry) -> Bool
}

extension ListenerListDelegate {
    func listeningChanged(in list: ListenerList) {}
    func listHasClosed(_ list: ListenerList) {}
    func resume(_ entry: ListenerEntry) -> Bool { false }
}
