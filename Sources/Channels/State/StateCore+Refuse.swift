internal import Synchronization

// Changes that are not made.
extension StateCore {
    /// Whether a change is refused: made by a listener, at the end of too long a chain.
    @inline(__always)
    func refusesChange() -> Bool {
        let thread = ThreadReference.current
        // What the first call of a lane sets is not refused, as what it posts is not.
        if thread.pointee.laneDepth > 1, refusesFanOut() { return true }
        guard let top = thread.pointee.top else { return false }
        return refusesChange(inside: top, thread)
    }

    @inline(never)
    private func refusesChange(inside top: FrameReference, _ thread: ThreadReference) -> Bool {
        guard thread.pointee.stackLeft > ThreadRecord.reservedStack else {
            list.reportStack(top)
            return true
        }
        let limit = ThreadRecord.deepest
        let isTooDeep =
            thread.pointee.depth >= limit
            || guarded.withLock { $0.turns.deliverer == thread.address && $0.turns.depth >= limit }
        if isTooDeep { list.reportRecursion(top, limit: limit) }
        return isTooDeep
    }

    /// Whether too many messages wait in the lane whose call makes the change.
    @inline(never)
    private func refusesFanOut() -> Bool {
        let count = Lane.refusalsOfCaller()
        guard count > 0 else { return false }
        list.reportFanOut(nil, count: count)
        return true
    }

    func reportFanOut() {
        // It follows from a post, or a value of this state, that is under way on this thread.
        guard let top = ThreadReference.current.pointee.top else { return }
        list.reportFanOut(top, count: guarded.withLock { $0.turns.refusedCount })
    }

    func reportBacklog() {
        let detail = "more than \(StateTurns.mostWaiting) values wait to be delivered"
        list.faults.report(.stateBacklog, list: list, listener: nil, detail: .text(detail))
    }

    /// Each is reported, unlike refused values: the next value may not come for long.
    func reportRefusedListener() {
        guard let top = ThreadReference.current.pointee.top else { return }
        list.reportFanOut(top, count: 1)
    }

    func trapInsideUpdate(_ use: String) {
        guard updater.load(ordering: .relaxed) != 0 else { return }
        // The calling thread obtains its record before it looks. Otherwise it could read the address of a
        // thread inside, then be given the record of that thread, which has ended since. So only the thread
        // inside can read its own address here.
        let thread = ThreadReference.current.address
        if updater.load(ordering: .relaxed) == thread { endInsideUpdate(use) }
    }

    /// By itself, so that those who look need no more registers.
    @inline(never)
    private func endInsideUpdate(_ use: String) -> Never {
        let type = list.layout.type
        fatalError(
            "StateChannel<\(type)>.\(use) was used inside the body of `update` of the same channel, which holds its lock"
        )
    }
}
