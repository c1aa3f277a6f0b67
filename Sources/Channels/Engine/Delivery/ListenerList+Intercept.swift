internal import Synchronization

// What interceptors do to a message before it is delivered.
extension ListenerList {
    /// Runs the interceptors on a copy of the message, which they may replace, and delivers it unless it is
    /// stopped.
    @inline(never)
    func interceptAndDeliver(_ message: MessageAddress, _ frame: FrameReference, before number: UInt64) -> Int {
        layout.withTemporary { copy in
            layout.copy(from: message, to: copy)
            defer { layout.destroy(copy) }
            return intercept(copy, frame, before: number) ? deliver(copy, frame, before: number) : 0
        }
    }

    /// Runs the interceptors. False if one of them stopped the message.
    @inline(never)
    private func intercept(_ message: MessageAddress, _ frame: FrameReference, before number: UInt64) -> Bool {
        var isStopped = false
        walk { entry in
            entry.borrow { interceptor in
                // They precede the listeners.
                guard interceptor.isInterceptor else { return nil }
                isStopped = !ask(interceptor, message, frame, before: number)
                return isStopped ? nil : entry
            }
        }
        return !isStopped
    }

    /// Runs one of them. False if it stopped the message.
    private func ask(
        _ interceptor: ListenerEntry,
        _ message: MessageAddress,
        _ frame: FrameReference,
        before number: UInt64
    ) -> Bool {
        let word = interceptor.word.load(ordering: .acquiring)
        guard word & ListenerEntry.ended == 0, word & ListenerEntry.number < number else { return true }
        let owner = interceptor.owner
        if word & ListenerEntry.owned != 0 {
            guard let owner else {
                remove(interceptor)
                return true
            }
            guard frame.pointee.excluded != Unretained(owner).address else { return true }
        }
        guard word & ListenerEntry.paused == 0 else {
            interceptor.counters?.borrow { $0.countMissed() }
            return true
        }
        frame.pointee.beginCall(of: interceptor)
        countCall(of: interceptor, word)
        // The owner is held until after the call.
        run(interceptor, message, owner.map { OwnerReference($0) }, frame, frame.pointee.envelope?.trace)
        withExtendedLifetime(owner) {}
        return frame.pointee.verdict == .continue
    }
}
