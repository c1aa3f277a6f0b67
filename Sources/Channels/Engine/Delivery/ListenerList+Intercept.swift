internal import Synchronization

extension ListenerList {
    /// Delivers a copy of the message, which interceptors may replace or stop.
    @inline(never)
    func interceptAndDeliver(_ frame: FrameReference) -> Int {
        layout.withTemporary { copy in
            layout.copy(from: frame.pointee.message, to: copy)
            defer { layout.destroy(copy) }
            frame.pointee.message = copy
            walk { entry in
                entry.borrow { interceptor in
                    // Interceptors precede the listeners.
                    guard interceptor.isInterceptor else { return nil }
                    ask(interceptor, frame)
                    return frame.pointee.isStopped ? nil : entry
                }
            }
            return frame.pointee.isStopped ? 0 : deliverToListeners(frame)
        }
    }

    /// Runs an interceptor, which may stop the message.
    private func ask(_ interceptor: ListenerEntry, _ frame: FrameReference) {
        let state = interceptor.state
        let owner = interceptor.owner
        guard mayReceive(frame, interceptor, state, owner.map { Unretained($0) }) else { return }
        frame.pointee.listener = Unretained(interceptor)
        if isObserved { _ = interceptor.ensureRoute() }
        countCall(of: interceptor, state)
        // Held until after the call.
        let reference = owner.map { OwnerReference($0) }
        interceptor.run(frame.pointee.message, reference, frame, frame.pointee.envelope?.trace)
        withExtendedLifetime(owner) {}
    }
}
