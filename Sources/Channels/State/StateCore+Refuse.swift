internal import Dispatch
internal import Synchronization

// Changes that are refused or slowed down.
extension StateCore {
    /// The maximum number of changes that may lead to one another. The stack does not limit them if two states set each
    /// other.
    private static var longestChain: Int { 1_024 }

    /// Counts the changes that have led to one made now, including itself. Returns nil, and raises a fault, if the
    /// change is refused.
    @inline(__always)
    func chainOfChange() -> Int? {
        let thread = ThreadReference.current
        guard let top = thread.pointee.top else { return 1 }
        return chainOfChange(inside: top, thread)
    }

    @inline(never)
    private func chainOfChange(inside top: FrameReference, _ thread: ThreadReference) -> Int? {
        guard thread.pointee.hasRoom else {
            list.reportStack(top)
            return nil
        }
        let chain = top.pointee.chain + 1
        guard chain <= Self.longestChain else {
            list.reportRecursion(top, limit: Self.longestChain)
            return nil
        }
        return chain
    }

    /// Slows a setter down behind a backlog, by at most 100 steps of a millisecond. Raises a fault if too many values
    /// still wait then. Inside a listener it does not wait, but raises the fault at each doubling of the backlog.
    /// - Parameter canWait: Whether another thread delivers the values.
    func slowDown(behind count: Int, _ canWait: Bool) {
        let isInsideListener = ThreadReference.current.pointee.isInsideListener || ListenerChain.call != nil
        guard canWait, !isInsideListener else {
            if count & (count - 1) == 0 { reportBacklog() }
            return
        }
        let never = DispatchSemaphore(value: 0)
        for _ in 0..<Self.mostSteps {
            _ = never.wait(timeout: .now() + .milliseconds(1))
            if guarded.withLock({ $0.turns.waitingCount <= StateTurns.mostWaiting }) { return }
        }
        reportBacklog()
    }

    private static var mostSteps: Int { 100 }

    private func reportBacklog() {
        let detail = "more than \(StateTurns.mostWaiting) values are to be delivered"
        list.faults.report(.stateBacklog, list: list, listener: nil, detail: .text(detail))
    }

    func trapInsideUpdate(_ use: String) {
        guard updater.load(ordering: .relaxed) != 0 else { return }
        // The calling thread obtains its record before it reads `updater`. Otherwise it could read the address of a
        // thread that then ends, and be given that thread's record.
        let thread = ThreadReference.current.address
        if updater.load(ordering: .relaxed) == thread { endInsideUpdate(use) }
    }

    /// A separate function, so that callers need fewer registers.
    @inline(never)
    private func endInsideUpdate(_ use: String) -> Never {
        let type = list.layout.type
        fatalError(
            "StateChannel<\(type)>.\(use) was used inside the body of `update` of the same channel, which holds its lock; "
                + "change the closure's `inout` parameter instead, or use the channel after `update` returns"
        )
    }
}
