internal import Synchronization

/// The records of the threads that use the library, in 64 groups.
///
/// A scan visits the records of some groups without a lock. A thread that ends takes its record out of the
/// chain of its group at once, so that no later scan meets it, and the record is freed when the scans that
/// may have met it have ended. Threads that have ended cost nothing: neither time in a scan nor, but for a
/// few spare records, memory.
///
/// The chains: `heads`, and `next` of each record, are written under `lock` and read by scans. A record taken
/// out keeps its `next`, which was in the chain when the record was, so a scan that is at it goes on. It does
/// not meet a record that was taken out before it began, by the argument for entries in
/// `Decisions/ListenerList.md`.
///
/// The scans: each adds one to a counter of its thread's group before it reads the chains, and takes it off
/// afterwards. A record is freed when each counter has been seen to be 0 since it was taken out: a scan that
/// might have met it had added one before that, and one that adds later, sequentially consistent as all of
/// this is, finds the record taken out. Each group has two counters, of which scans use the one that `turn`
/// says: the other one runs dry, whatever load there is, then the two change places (as in sleepable RCU, P.
/// McKenney). A scan that reads `turn` just before it changes may use the old counter: that delays the
/// freeing, and no more.
///
/// `lock` guards the changes of the chains, `ended` and `spare`, and no user code runs under it. `@safe`
/// because the two pointers never change, and what they point to is atomic and never freed.
@safe
final class LivingThreads: @unchecked Sendable {  // guards: see above
    static let all = LivingThreads()

    private static let groupCount = UInt64.bitWidth
    /// Words from one counter to the next, so that threads of different groups do not share a cache line.
    private static let stride = 16
    /// So many records are kept for the next threads.
    private static let mostSpare = 16

    /// The address of the newest record of each group, or 0.
    private let heads: UnsafeMutablePointer<Atomic<UInt>>
    /// The scans under way by threads of each group.
    private let scans: UnsafeMutablePointer<Atomic<Int>>
    /// Which of the two counters of its group a scan uses: 0 or 1.
    private let turn = Atomic<Int>(0)
    /// The groups that have a record.
    private let groups = Atomic<UInt64>(0)
    /// Divides the threads among the groups.
    private let nextGroup = Atomic<Int>(0)

    private let lock = SpinLock()
    @safe @exclusivity(unchecked) private var ended = EndedThreads()
    @safe @exclusivity(unchecked) private var spare = EndedThreads.Chain()

    private init() {
        unsafe heads = .allocate(capacity: Self.groupCount)
        for index in 0..<Self.groupCount { unsafe (heads + index).initialize(to: Atomic(0)) }
        unsafe scans = .allocate(capacity: Self.groupCount * Self.stride)
        for index in 0..<Self.groupCount * Self.stride { unsafe (scans + index).initialize(to: Atomic(0)) }
    }

    // MARK: Threads that begin and end

    /// A record for the calling thread.
    func add() -> ThreadReference {
        if let record = lock.withLock({ () -> ThreadReference? in
            let record = spare.popFirst()
            if let record { link(record) }
            return record
        }) {
            return record
        }
        let group = nextGroup.wrappingAdd(1, ordering: .relaxed).oldValue % Self.groupCount
        let record = ThreadReference.make(group: 1 << UInt64(group))
        lock.withLock { link(record) }
        return record
    }

    /// Takes back the record of a thread that has ended.
    func remove(_ record: ThreadReference) {
        var freed = lock.withLock { () -> EndedThreads.Chain in
            unlink(record)
            ended.add(record)
            var freed = ended.advance(turn, isQuiet)
            while spare.count < Self.mostSpare, let record = freed.popFirst() { spare.add(record) }
            return freed
        }
        while let record = freed.popFirst() { record.free() }
    }

    private func link(_ record: ThreadReference) {
        let group = record.pointee.group
        let head = unsafe heads[group.trailingZeroBitCount].load(ordering: .relaxed)
        record.pointee.previous = nil
        record.pointee.next.store(head, ordering: .relaxed)
        ThreadReference(address: head)?.pointee.previous = record
        unsafe heads[group.trailingZeroBitCount].store(record.address, ordering: .sequentiallyConsistent)
        groups.bitwiseOr(group, ordering: .sequentiallyConsistent)
    }

    private func unlink(_ record: ThreadReference) {
        let group = record.pointee.group
        let after = record.pointee.next.load(ordering: .relaxed)
        ThreadReference(address: after)?.pointee.previous = record.pointee.previous
        if let before = record.pointee.previous {
            before.pointee.next.store(after, ordering: .sequentiallyConsistent)
        } else {
            unsafe heads[group.trailingZeroBitCount].store(after, ordering: .sequentiallyConsistent)
            if after == 0 { groups.bitwiseAnd(~group, ordering: .sequentiallyConsistent) }
        }
    }

    private func isQuiet(_ turn: Int) -> Bool {
        for group in 0..<Self.groupCount
        where unsafe scans[group * Self.stride + turn].load(ordering: .sequentiallyConsistent) != 0 { return false }
        return true
    }

    // MARK: Scans

    /// Visits the records of the living threads of some groups, as long as the body returns true. The body
    /// must not run user code, nor keep the record.
    ///
    /// - Complexity: O(*n*) in the number of living threads of these groups.
    @inline(__always)
    func scan(_ wanted: UInt64, _ body: (ThreadReference) -> Bool) {
        // The calling thread obtains its record before it looks. Otherwise it could be given that of a thread
        // that posted and ended in between, and mistake that post for its own.
        let own = ThreadReference.current
        // A thread enters its group before it first posts. So a group that is left out has no post that began
        // before this was read.
        var wanted = wanted & groups.load(ordering: .sequentiallyConsistent)
        guard wanted != 0 else { return }
        let group = own.pointee.group.trailingZeroBitCount
        // Most often the calling thread alone has posted here. Its own record is not freed meanwhile.
        if wanted == own.pointee.group, own.pointee.next.load(ordering: .sequentiallyConsistent) == 0,
            unsafe heads[group].load(ordering: .sequentiallyConsistent) == own.address
        {
            _ = body(own)
            return
        }
        let counter = group * Self.stride + turn.load(ordering: .relaxed)
        unsafe scans[counter].wrappingAdd(1, ordering: .sequentiallyConsistent)
        defer { unsafe scans[counter].wrappingSubtract(1, ordering: .releasing) }
        while wanted != 0 {
            var next = unsafe heads[wanted.trailingZeroBitCount].load(ordering: .sequentiallyConsistent)
            wanted &= wanted - 1
            while let record = ThreadReference(address: next) {
                guard body(record) else { return }
                next = record.pointee.next.load(ordering: .sequentiallyConsistent)
            }
        }
    }
}

/// The records of threads that have ended, until no scan can meet them.
///
/// Two generations: `waiting` waits for the scans under way when it began to wait; `incoming` was added
/// since.
struct EndedThreads {
    /// Records linked through `previous`.
    struct Chain {
        private var first: ThreadReference?
        private(set) var count = 0

        var isEmpty: Bool { count == 0 }

        mutating func add(_ record: ThreadReference) {
            record.pointee.previous = first
            first = record
            count += 1
        }

        mutating func popFirst() -> ThreadReference? {
            guard let record = first else { return nil }
            first = record.pointee.previous
            count -= 1
            return record
        }
    }

    private var incoming = Chain()
    private var waiting = Chain()
    /// Whether the counters have changed places since `waiting` began to wait.
    private var hasTurned = false

    mutating func add(_ record: ThreadReference) { incoming.add(record) }

    /// Returns the records that no scan can meet any more.
    ///
    /// - Parameters:
    ///   - turn: Which counter scans use.
    ///   - isQuiet: Whether each group's counter of a turn has been seen to be 0.
    mutating func advance(_ turn: borrowing Atomic<Int>, _ isQuiet: (Int) -> Bool) -> Chain {
        if waiting.isEmpty {
            waiting = incoming
            incoming = Chain()
            hasTurned = false
        }
        guard !waiting.isEmpty else { return Chain() }
        if !hasTurned {
            let other = 1 - turn.load(ordering: .relaxed)
            guard isQuiet(other) else { return Chain() }
            turn.store(other, ordering: .sequentiallyConsistent)
            hasTurned = true
        }
        guard isQuiet(1 - turn.load(ordering: .relaxed)) else { return Chain() }
        defer { waiting = Chain() }
        return waiting
    }
}
