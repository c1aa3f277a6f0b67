extension ListenerEntry {
    /// Calls the listener on the current thread, inside the trace of its message if there is one.
    @inline(__always)
    func run(
        _ message: MessageAddress,
        _ owner: OwnerReference?,
        _ frame: FrameReference,
        _ trace: (any MessageTrace)?
    ) {
        guard let trace else { return run(message, owner, frame) }
        trace.deliver(to: self) { run(message, owner, frame) }
    }
}
