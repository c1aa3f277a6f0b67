internal import Dispatch
internal import Synchronization

// Changes that are not made, and those that are slowed down.
extension StateCore {
    /// How many posts and changes lead to a change made now, itself included; nil where it is refused, with a
    /// fault: made by a listener, at the end of too long a chain, or where too many have followed from one post.
    @inline(__always)
    func chainOfChange() -> Int? {
        let thread = ThreadReference.current
        guard let top = thread.pointee.top else {
            thread.pointee.followed = 0
            return 1
        }
        return chainOfChange(inside: top, thread)
    }

    @inline(never)
    private func chainOfChange(inside top: FrameReference, _ thread: ThreadReference) -> Int? {
        guard thread.pointee.stackLeft > ThreadRecord.reservedStack else {
            list.reportStack(top)
            return nil
        }
        let chain = top.pointee.chain + 1
        guard chain <= ThreadRecord.deepest else {
            list.reportRecursion(top, limit: ThreadRecord.deepest)
            return nil
        }
        let refused = thread.pointee.countFollowing(chain: chain)
        guard refused == 0 else {
            list.reportFollowing(top, count: refused)
            return nil
        }
        return chain
    }

    /// Slows a setter down behind a backlog of values, in steps of a millisecond and 100 of them at most; a fault
    /// follows if too many still wait. Inside a listener nobody waits: the fault is raised whenever their number
    /// has doubled.
    @inline(never)
    func slowDown(behind count: Int) {
        let isInsideListener = ThreadReference.current.pointee.isInsideListener || ListenerChain.call != nil
        guard !isInsideListener else {
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
        let detail = "more than \(StateTurns.mostWaiting) values wait to be delivered"
        list.faults.report(.stateBacklog, list: list, listener: nil, detail: .text(detail))
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
