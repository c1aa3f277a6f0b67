internal import Synchronization

/// One shard of the names.
///
/// Guards: `lock` guards `order`, `kept` and changes of the table, which is read without it: see `RegistryShard+Read`.
/// Objects are released after unlocking, because a deinit is user code.
///
/// A channel that a post makes because patterns match its name is *kept* for the next post, as long as they do. Nobody
/// else has a reference to it: it is neither found nor shown, and is replaced if a channel of another type is made. If
/// someone asks for the channel of the name, the kept one is handed out, and from then on it is like any other.
final class RegistryShard: HazardDomain, @unchecked Sendable {  // guards: see above
    /// The most names visited in one critical section, which takes about ten microseconds.
    static let longestPortion = 64
    /// The most channels kept, so that names made up at run time cannot exhaust memory.
    private static let mostKept = 64

    /// The address of the table, retained.
    private let tableAddress = Atomic<UInt>(Unretained.retaining(NameTable()).address)
    private var order: [RegistrySlot] = []
    /// The slots in the table whose channels are kept, oldest first.
    private var kept: [RegistrySlot] = []
    private let mostVisited = Atomic<Int>(0)

    init() { super.init(lendsObjects: true) }

    deinit {
        for object in takeRetired() { object.release() }
        table?.release()
    }

    /// The table. Used under the lock, or after announcing that the shard is read.
    var table: Unretained<NameTable>? { Unretained(address: tableAddress.load(ordering: .sequentiallyConsistent)) }

    var mostVisitedAtOnce: Int { mostVisited.load(ordering: .relaxed) }

    /// The channel that a name has after one was entered, and what was removed for it.
    typealias Entered = (object: AnyObject, kind: ChannelContent, removed: Removed)

    /// What a change has made unreachable: counted references to objects that readers may still use.
    typealias Removed = [Unretained<AnyObject>]

    /// Enters a channel, unless the name already has one.
    ///
    /// Once the caller holds no lock, it passes what was removed to ``release(_:)``.
    func enter(_ slot: RegistrySlot, _ object: AnyObject) -> Entered {
        lock.withLock {
            var removed: Removed = []
            let found = self.slot(of: slot.key)
            if let found, let object = found.living, !found.isKept || found.isLike(slot) {
                if found.isKept, !slot.isKept { handOut(found, &removed) }
                return (object, found.kind, removed)
            }
            // The replaced object was deallocated, or was a kept one.
            if let found { takeOut(found, &removed) }
            // After a slot was taken out and the table became smaller, there is room, so the table is copied at most
            // once.
            copyTable(if: \.isFull, &removed)
            table?.borrow { $0.insert(slot) }
            slot.position = order.count
            order.append(slot)
            if slot.isKept { kept.append(slot) }
            return (object, slot.kind, removed)
        }
    }

    /// Removes a channel that was just kept if no pattern matches it anymore, or the oldest kept one if there are too
    /// many.
    func limitKept(_ key: NameKey) {
        var removed: Removed = []
        lock.withLock {
            if let slot = slot(of: key), slot.isKept, slot.list.hasNoListenerNow {
                takeOut(slot, &removed)
            } else if kept.count > Self.mostKept {
                takeOut(kept[0], &removed)
            }
        }
        release(removed)
    }

    /// Retains the channel while it has listeners.
    func didChangeListening(_ key: NameKey, _ object: AnyObject, _ list: ListenerList) {
        var removed: Removed = []
        lock.withLock {
            guard let slot = self.slot(of: key), slot.list === list else { return }
            // Read under the lock, so that the later of two threads reads the later count.
            if list.hasOwnListeners {
                slot.hold(object)
            } else if slot.isKept {
                if list.hasNoListenerNow { takeOut(slot, &removed) }
            } else if let object = slot.letGo() {
                removed.append(object)
            }
        }
        list.didUnlock()
        release(removed)
    }

    func remove(_ key: NameKey) -> ListenerList? {
        var removed: Removed = []
        // Released like the others, without the lock.
        var living: AnyObject?
        var list: ListenerList?
        lock.withLock {
            guard let slot = self.slot(of: key) else { return }
            if !slot.isKept { living = slot.living }
            list = slot.list
            takeOut(slot, &removed)
        }
        release(removed)
        return living == nil ? nil : list
    }

    /// Frees the name of a channel that was deallocated or finished.
    func removeGone(_ key: NameKey, _ list: ListenerList) {
        var removed: Removed = []
        lock.withLock {
            guard let slot = self.slot(of: key), slot.list === list else { return }
            takeOut(slot, &removed)
        }
        release(removed)
    }

    /// Finds every channel that is in the shard from the beginning of this call to its end.
    ///
    /// Visits names from the end to the beginning. When a name is removed, the last one takes its place. If that place
    /// is still ahead, the last one, already found, is found again; if the place has been passed, nothing is missed.
    /// Names entered meanwhile are added at the end.
    func find(_ found: inout [FoundChannel]) {
        var rest = Int.max
        while rest > 0 {
            // Memory is allocated, and channels are released, without the lock.
            var portion: [FoundChannel] = []
            portion.reserveCapacity(Self.longestPortion)
            lock.withLock {
                let end = min(rest, order.count)
                rest = max(0, end - Self.longestPortion)
                for slot in order[rest..<end] { if let object = slot.living { portion.append((slot, object)) } }
                mostVisited.store(max(mostVisited.load(ordering: .relaxed), end - rest), ordering: .relaxed)
            }
            found += portion
        }
    }

    // MARK: Under the lock

    // The table keeps the slot alive.
    private func slot(of key: NameKey) -> RegistrySlot? { table?.borrow { $0.find(key)?.object } }

    private func forgetKept(_ slot: RegistrySlot) { if slot.isKept { kept.removeAll { $0 === slot } } }

    private func handOut(_ slot: RegistrySlot, _ removed: inout Removed) {
        // Before `isKept` becomes false.
        forgetKept(slot)
        if let object = slot.handOut() { removed.append(object) }
    }

    private func takeOut(_ slot: RegistrySlot, _ removed: inout Removed) {
        forgetKept(slot)
        if let object = slot.letGo() { removed.append(object) }
        if let slot = table?.borrow({ $0.remove(slot) }) { removed.append(slot.untyped) }
        let last = order.removeLast()
        if last !== slot {
            order[slot.position] = last
            last.position = slot.position
        }
        copyTable(if: \.isSparse, &removed)
    }

    private func copyTable(if isDue: (NameTable) -> Bool, _ removed: inout Removed) {
        guard let table, table.borrow(isDue) else { return }
        removed.append(table.untyped)
        // Every reader that has not announced itself yet will see the copy.
        let copy = Unretained.retaining(table.borrow { $0.copy() })
        tableAddress.store(copy.address, ordering: .sequentiallyConsistent)
    }
}
