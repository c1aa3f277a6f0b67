internal import Dispatch
internal import Synchronization

/// Something that threads read without a lock and change under one: the listeners of a channel, or a shard of the
/// names.
///
/// A reader announces its use in a hazard slot, and never waits. An object that a change has made unreachable is
/// retired, and freed when the uses that may still reach it have ended. The proof is in `Decisions/ListenerList.md`.
///
/// A retired object waits for the uses that were in progress when it began to wait, and not for later ones, so endless
/// posting cannot keep it alive. In a list, one group of objects waits at a time: those retired meanwhile are in
/// `incoming`, and begin to wait once the group has been freed. In a shard each object waits on its own, because a long
/// post on one channel must not hold back another.
///
/// Guards: `lock` guards every `var`. The rest is atomic.
@usableFromInline
package class HazardDomain: @unchecked Sendable {  // guards: see above
    /// Objects, each held by a counted reference.
    typealias Objects = [Unretained<AnyObject>]

    final let lock = SpinLock()
    /// The groups of the threads that have read this, so that a thread that retires something need not look at the
    /// others.
    final let readers = Atomic<UInt64>(0)
    /// Whether a reader that has finished looks for something to free.
    final let hasRetired = Atomic<Bool>(false)
    /// Set by a reader that finishes while another thread holds the lock; see ``collectIfAsked()``.
    private final let mustCollect = Atomic<Bool>(false)
    private final let lendsObjects: Bool
    @safe @exclusivity(unchecked) private final var retired: [(objects: Objects, underWay: [HazardUse])] = []
    @safe @exclusivity(unchecked) private final var incoming = Objects()
    /// The tasks that wait for uses to end, each for those that were in progress when it began to wait.
    private final var waiters = Waiters<[HazardUse]>()
    /// Whether a job is scheduled that will look again.
    private final var isLookedAfter = false

    /// - Parameter lendsObjects: Whether a use of this may pass to an object that was found in it, and that is retired
    ///   later.
    init(lendsObjects: Bool) { self.lendsObjects = lendsObjects }

    /// Releases a retired object. Called without a lock, because it may run user code.
    func free(_ object: Unretained<AnyObject>) { object.release() }

    /// The identity of this, only ever compared.
    final var address: UInt { Unretained(self).address }

    /// Begins a use by the calling thread: nothing that it can reach is freed until ``withdrawUse(by:)``.
    @inline(__always) @discardableResult
    final func announceUse(by thread: ThreadReference) -> SlotReference {
        let index = thread.pointee.slotsInUse
        thread.pointee.slotsInUse = index + 1
        let group = thread.pointee.group
        // Set before the slot. If a thread that removes something does not see the bit, its removal precedes this use,
        // which then cannot reach what was removed.
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
        // A full barrier: either a thread that removes something sees this use, or this use sees the removal.
        _ = slot.pointee.address.exchange(address, ordering: .sequentiallyConsistent)
        return slot
    }

    /// Ends the use announced last. May run user code.
    ///
    /// There is no full barrier, so `hasRetired` may be read too early; the thread that retires something therefore
    /// looks again.
    @inline(__always)
    final func withdrawUse(by thread: ThreadReference) {
        thread.pointee.slotsInUse -= 1
        thread.pointee.slot(thread.pointee.slotsInUse).pointee.address.store(0, ordering: .releasing)
        if hasRetired.load(ordering: .acquiring) { collectAfterUse() }
    }

    /// The uses in progress, on any thread, of this or of the given objects that were found in it.
    final func uses(of objects: Objects = []) -> [HazardUse] {
        HazardUse.uses(by: readers.load(ordering: .sequentiallyConsistent)) { isUse($0, of: objects) }
    }

    private final func isUse(_ announced: UInt, of objects: Objects) -> Bool {
        announced == address || announced != 0 && objects.contains { $0.address == announced }
    }

    private final func haveEnded(_ uses: [HazardUse], of objects: Objects = []) -> Bool {
        uses.allSatisfy { use in use.hasEnded { isUse($0, of: objects) } }
    }

    /// Takes over a counted reference to an object that has just been made unreachable, if it has to wait behind
    /// others, and returns true. Otherwise the caller unlocks and calls ``freeUnlessUsed(_:)``. Called under the lock.
    final func waitsBehindOthers(_ object: Unretained<AnyObject>) -> Bool {
        guard !retired.isEmpty, !lendsObjects else { return false }
        incoming.append(object)
        return true
    }

    /// Takes over counted references to objects that have been made unreachable, and frees them: now, or when the uses
    /// that may reach them have ended. Called without the lock, because it looks at all threads and may run user code.
    /// The caller then calls ``collectAfterUnlocking()``.
    ///
    /// The objects were unreachable before this looks, so a use that it does not see cannot find them.
    final func freeUnlessUsed(_ objects: Objects) {
        let uses = uses(of: objects)
        guard uses.isEmpty else { return wait(for: uses, objects) }
        for object in objects { free(object) }
    }

    /// Frees one object, or makes it wait, as the overload for several does. Does not allocate unless the object has to
    /// wait.
    final func freeUnlessUsed(_ object: Unretained<AnyObject>) {
        let (address, other) = (address, object.address)
        let groups = readers.load(ordering: .sequentiallyConsistent)
        guard HazardUse.hasUses(by: groups, of: { $0 == address || $0 == other }) else { return free(object) }
        freeUnlessUsed([object])
    }

    /// Makes objects wait for the uses that were in progress after they had become unreachable.
    private final func wait(for uses: [HazardUse], _ objects: Objects) {
        lock.withLock {
            guard retired.isEmpty || lendsObjects else {
                incoming += objects
                return
            }
            retired.append((objects, uses))
            announceRetired(to: uses)
        }
        // Some uses may have ended before they could see that something waits.
        mustCollect.store(true, ordering: .sequentiallyConsistent)
    }

    /// Makes readers look for something to free when they finish. Called under the lock.
    private final func announceRetired(to uses: [HazardUse]) {
        if !hasRetired.load(ordering: .relaxed) { hasRetired.store(true, ordering: .sequentiallyConsistent) }
        guard !isLookedAfter, uses.contains(where: { !$0.isOnCallingThread }) else { return }
        isLookedAfter = true
        lookLater(after: 1)
    }

    /// Looks again later, because a use on another thread may have ended unnoticed.
    ///
    /// A reader clears its slot and then reads `hasRetired`, without a barrier in between, so it may read the old value
    /// while other threads still see its slot in use. They see it cleared a moment later. So this looks again after 1,
    /// 2, 4 and 8 ms, and then every 16 ms, as long as anything is left.
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

    /// Collects what was left by uses that ended while this thread held the lock. Called after every critical section,
    /// without any lock, because it may run user code.
    final func collectAfterUnlocking() {
        // Set under the lock before a reader could leave work, so a later holder of the lock sees it.
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

    /// Frees what no use can reach anymore, and resumes tasks whose wait for uses is over. Returns false if the lock
    /// was not available. The caller then calls ``collectIfAsked()``.
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
            // Some uses may have ended meanwhile.
            mustCollect.store(true, ordering: .sequentiallyConsistent)
        }
        resumed.resume()
        return true
    }

    /// Waits for the uses in progress on other threads. Uses on this thread cannot end while this waits.
    final func waitForUses() async {
        await Waiters<[HazardUse]>.suspend { continuation in
            let uses = uses().filter { !$0.isOnCallingThread }
            guard !uses.isEmpty else { return false }
            lock.withLock {
                waiters.add(continuation, until: uses)
                announceRetired(to: uses)
            }
            // Some uses may have ended before they could see that a task waits.
            if haveEnded(uses) { collect(waitsForLock: true) }
            collectIfAsked()
            return true
        }
    }

    /// Takes out everything retired. Called in a deinit, when no use is left.
    final func takeRetired() -> Objects {
        defer { (retired, incoming) = ([], []) }
        return retired.flatMap(\.objects) + incoming
    }

    /// Keeps an object until ``takeRetired()``. For a list used by only one isolation domain.
    final func keepRetired(_ object: Unretained<AnyObject>) { incoming.append(object) }
}
