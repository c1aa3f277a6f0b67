internal import Dispatch
internal import Synchronization

/// What threads read without a lock and change under one: the listeners of a channel, a shard of the names.
///
/// A reader announces its use in a hazard slot, and never waits. What a change has made unreachable is retired under
/// the lock, and freed when the uses that may reach it have ended. The proof is in `Decisions/ListenerList.md`.
///
/// What is retired waits for the uses that were in progress when it began to wait, and not for later ones, so endless
/// posting cannot keep it alive. In a list, whose uses are all of the same, what is retired meanwhile is `incoming`: it
/// begins to wait once what waits is freed. In a shard each object waits for itself, because a long post on one
/// channel must not hold back another.
///
/// Guards: `lock` guards every `var`. The rest is atomic.
@usableFromInline
package class HazardDomain: @unchecked Sendable {  // guards: see above
    /// Objects, each with a counted reference.
    typealias Objects = [Unretained<AnyObject>]

    final let lock = SpinLock()
    /// The groups of the threads that have read this, so that whoever retires need not look at the others.
    final let readers = Atomic<UInt64>(0)
    /// Whether a reader that has finished looks for something to free.
    final let hasRetired = Atomic<Bool>(false)
    /// Set by a reader that finishes while another thread holds the lock; see ``collectIfAsked()``.
    private final let mustCollect = Atomic<Bool>(false)
    private final let lendsObjects: Bool
    @safe @exclusivity(unchecked) private final var retired: [(objects: Objects, underWay: [HazardUse])] = []
    @safe @exclusivity(unchecked) private final var incoming = Objects()
    /// The tasks that wait for uses to end, each for those that were under way when it began to wait.
    private final var waiters = Waiters<[HazardUse]>()
    /// Whether a job will look again.
    private final var isLookedAfter = false

    /// - Parameter lendsObjects: Whether a use of this may become one of an object that is retired later.
    init(lendsObjects: Bool) { self.lendsObjects = lendsObjects }

    /// Releases what was retired. Called without a lock, because it may run user code.
    func free(_ object: Unretained<AnyObject>) { object.release() }

    /// Only compared.
    final var address: UInt { Unretained(self).address }

    /// Begins a use by the calling thread: nothing that it can reach is freed until ``withdrawUse(by:)``.
    @inline(__always) @discardableResult
    final func announceUse(by thread: ThreadReference) -> SlotReference {
        let index = thread.pointee.slotsInUse
        thread.pointee.slotsInUse = index + 1
        let group = thread.pointee.group
        // Set before the slot: a thread that removes something and does not see the bit precedes this use,
        // which then does not meet what was removed.
        if readers.load(ordering: .acquiring) & group == 0 {
            readers.bitwiseOr(group, ordering: .sequentiallyConsistent)
        }
        let slot = thread.pointee.slot(index)
        if index >= thread.pointee.used.load(ordering: .relaxed) {
            require(
                index < ThreadRecord.slotCount,
                "\(index) nested uses of channels on one thread, which is the limit: write 'Task { … }' around the inner ones"
            )
            thread.pointee.used.store(index + 1, ordering: .sequentiallyConsistent)
        }
        slot.pointee.sequence.store(slot.pointee.sequence.load(ordering: .relaxed) &+ 1, ordering: .releasing)
        // A full barrier: a thread that removes something sees this use, or else this use sees the removal.
        _ = slot.pointee.address.exchange(address, ordering: .sequentiallyConsistent)
        return slot
    }

    /// Ends the use announced last. May run user code.
    ///
    /// Without a full barrier, what is read here may be old; the thread that retires something looks again.
    @inline(__always)
    final func withdrawUse(by thread: ThreadReference) {
        thread.pointee.slotsInUse -= 1
        thread.pointee.slot(thread.pointee.slotsInUse).pointee.address.store(0, ordering: .releasing)
        if hasRetired.load(ordering: .acquiring) { collectAfterUse() }
    }

    /// The uses of this, or of objects that were found in it, in progress on any thread.
    final func uses(of objects: Objects = []) -> [HazardUse] {
        HazardUse.uses(by: readers.load(ordering: .sequentiallyConsistent)) { isUse($0, of: objects) }
    }

    private final func isUse(_ announced: UInt, of objects: Objects) -> Bool {
        announced == address || announced != 0 && objects.contains { $0.address == announced }
    }

    private final func haveEnded(_ uses: [HazardUse], of objects: Objects = []) -> Bool {
        uses.allSatisfy { use in use.hasEnded { isUse($0, of: objects) } }
    }

    /// Takes over a counted reference to an object that has just been made unreachable, under the lock, if it is to
    /// wait behind what waits already. Otherwise the caller unlocks, and calls ``freeUnlessUsed(_:)``.
    final func waitsBehindOthers(_ object: Unretained<AnyObject>) -> Bool {
        guard !retired.isEmpty, !lendsObjects else { return false }
        incoming.append(object)
        return true
    }

    /// Takes over counted references to objects that have been made unreachable, and frees them: now, or when the uses
    /// that may reach them have ended. Called without the lock, because it looks at the threads in use, and may run
    /// user code. The caller then calls ``collectAfterUnlocking()``.
    ///
    /// What was made unreachable before this looks is not found by a use that it does not see.
    final func freeUnlessUsed(_ objects: Objects) {
        let uses = uses(of: objects)
        guard uses.isEmpty else { return wait(for: uses, objects) }
        for object in objects { free(object) }
    }

    /// Frees one object as ``freeUnlessUsed(_:)`` does, or has it wait. Does not allocate.
    final func freeUnlessUsed(_ object: Unretained<AnyObject>) {
        let (address, other) = (address, object.address)
        let groups = readers.load(ordering: .sequentiallyConsistent)
        guard HazardUse.hasUses(by: groups, of: { $0 == address || $0 == other }) else { return free(object) }
        freeUnlessUsed([object])
    }

    /// Has objects wait for uses that were in progress after they were made unreachable.
    private final func wait(for uses: [HazardUse], _ objects: Objects) {
        lock.withLock {
            guard retired.isEmpty || lendsObjects else {
                incoming += objects
                return
            }
            retired.append((objects, uses))
            announceRetired(to: uses)
        }
        // Some may have ended before they could see that something waits.
        mustCollect.store(true, ordering: .sequentiallyConsistent)
    }

    /// Makes readers look for something to free when they finish. Called under the lock.
    private final func announceRetired(to uses: [HazardUse]) {
        if !hasRetired.load(ordering: .relaxed) { hasRetired.store(true, ordering: .sequentiallyConsistent) }
        guard !isLookedAfter, uses.contains(where: { !$0.isOnCallingThread }) else { return }
        isLookedAfter = true
        lookLater(after: 1)
    }

    /// Looks again later, in case the end of a use on another thread goes unnoticed.
    ///
    /// A reader clears its slot and then reads `hasRetired`, without a barrier in between: it may read the old
    /// value while its slot still looks taken. The slot looks free a moment later, so this looks again after
    /// 1 ms, 2, 4, 8 and then every 16, as long as anything is left.
    private final func lookLater(after milliseconds: Int) {
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(milliseconds)) { [self] in
            collect(waitsForLock: true)
            collectIfAsked()
            lock.withLock {
                isLookedAfter = !retired.isEmpty || !waiters.isEmpty
                if isLookedAfter { lookLater(after: min(2 * milliseconds, 16)) }
            }
        }
    }

    @inline(never)
    private final func collectAfterUse() {
        mustCollect.store(true, ordering: .sequentiallyConsistent)
        collectIfAsked()
    }

    /// Collects for uses that ended while the thread held the lock. Called after every section of the lock, without any
    /// lock, because it may run user code.
    final func collectAfterUnlocking() {
        // Set under the lock before a reader could leave work, so a later holder sees it.
        if hasRetired.load(ordering: .relaxed) { collectIfAsked() }
    }

    /// Collects if a use has ended; a reader never waits for the lock.
    ///
    /// The reader sets `mustCollect` and then tries the lock; the holder releases the lock and then exchanges
    /// `mustCollect`. Both are sequentially consistent, so one of the two sees the other.
    @inline(never)
    private final func collectIfAsked() {
        while mustCollect.exchange(false, ordering: .sequentiallyConsistent) {
            guard collect(waitsForLock: false) else {
                mustCollect.store(true, ordering: .sequentiallyConsistent)
                // The holder may have released the lock between the two lines above without seeing the flag.
                guard collect(waitsForLock: false) else { return }
                continue
            }
        }
    }

    /// Frees what no use can reach any more, and resumes the tasks that wait for uses to end. Returns false if the
    /// lock was not available. ``collectIfAsked()`` follows.
    @discardableResult
    private final func collect(waitsForLock: Bool) -> Bool {
        var (freed, next) = (Objects(), Objects())
        var resumed: [CheckedContinuation<Void, Never>] = []
        let body = { [self] in
            retired.removeAll { generation in
                guard haveEnded(generation.underWay, of: generation.objects) else { return false }
                freed += generation.objects
                return true
            }
            if retired.isEmpty { swap(&incoming, &next) }
            resumed = waiters.take { haveEnded($0) }
            if retired.isEmpty, waiters.isEmpty, next.isEmpty {
                hasRetired.store(false, ordering: .sequentiallyConsistent)
            }
        }
        if waitsForLock {
            lock.withLock(body)
        } else if !lock.withLockIfAvailable(body) {
            return false
        }
        for object in freed { free(object) }
        if !next.isEmpty {
            freeUnlessUsed(next)
            // For the uses that ended meanwhile.
            mustCollect.store(true, ordering: .sequentiallyConsistent)
        }
        resumed.resume()
        return true
    }

    /// Waits for the uses in progress on other threads. Those on this thread cannot end meanwhile.
    final func waitForUses() async {
        await Waiters<[HazardUse]>.suspend { continuation in
            let uses = uses().filter { !$0.isOnCallingThread }
            guard !uses.isEmpty else { return false }
            lock.withLock {
                waiters.add(continuation, until: uses)
                announceRetired(to: uses)
            }
            // Some may have ended before they could see that a task waits.
            if haveEnded(uses) { collect(waitsForLock: true) }
            collectIfAsked()
            return true
        }
    }

    /// Takes out what was retired, in a deinit: nobody uses it any more.
    final func takeRetired() -> Objects {
        defer { (retired, incoming) = ([], []) }
        return retired.flatMap(\.objects) + incoming
    }

    /// Keeps an object until ``takeRetired()``, where one isolation domain is all that uses this.
    final func keepRetired(_ object: Unretained<AnyObject>) { incoming.append(object) }
}
