internal import Dispatch

// Which lane a listener has. It is looked up when the listener is registered, never when something is posted. A mailbox
// keeps its lane alive; the table of actors, and queues, reference lanes weakly.
extension Lane {
    static let main = Lane(.mainActor, of: MainActor.shared)

    static func of(_ actor: any Actor) -> Lane {
        let address = Unretained<AnyObject>(actor).address
        return address == main.home ? main : ActorLanes.shard(of: address).lane(of: actor, address)
    }

    /// Returns the lane of a queue. On a global concurrent queue, which keeps no order, each listener has a lane of its
    /// own.
    static func of(_ queue: DispatchQueue) -> Lane {
        if queue.label.hasPrefix("com.apple.root.") { return Lane(.queue(queue)) }
        return queueLanes.withLock { _ in
            // Stored in the queue, not in a table by address, because on Linux each use of the main queue makes another
            // object.
            if let known = queue.getSpecific(key: queueKey) {
                if let lane = known.lane { return lane }
                let lane = Lane(.queue(queue))
                known.lane = lane
                return lane
            }
            let lane = Lane(.queue(queue))
            queue.setSpecific(key: queueKey, value: KnownLane(lane))
            return lane
        }
    }

    /// Removes the lane of an actor from the table. Called when the lane is deallocated.
    static func forget(_ lane: Lane) { ActorLanes.shard(of: lane.home).forget(lane) }

    /// Returns whether the lane was made for an actor, which the caller keeps alive.
    fileprivate func isLane(of actor: any Actor) -> Bool {
        // A living actor at this address is this one. The reference loaded here is not the last one, because the caller
        // has another.
        self.actor != nil && home == Unretained<AnyObject>(actor).address
    }

    private static let queueKey = DispatchSpecificKey<KnownLane>()
    /// Guards the ``KnownLane`` of every queue.
    private static let queueLanes = Locked<Void>(())
}

/// A weak reference from a queue, or the table of actors, to a lane.
private final class KnownLane: @unchecked Sendable {  // guarded by `queueLanes`, or the lock of the table
    weak var lane: Lane?
    /// Identifies the lane, even while it is being deinitialized.
    let identity: ObjectIdentifier

    init(_ lane: Lane) {
        self.lane = lane
        identity = ObjectIdentifier(lane)
    }
}

/// A shard of the table of actors that have a lane, by address.
private final class ActorLanes: Sendable {
    private static let shards = (0..<16).map { _ in ActorLanes() }

    /// The shard of an address. Objects are aligned to 16 bytes, so the lowest four bits say nothing.
    static func shard(of address: UInt) -> ActorLanes { shards[Int(truncatingIfNeeded: address >> 4) & 15] }

    private let lanes = Locked<[UInt: KnownLane]>([:], spins: true)

    func lane(of actor: any Actor, _ address: UInt) -> Lane {
        // Released after unlocking, because releasing the last reference to a lane runs its deinit, which takes the
        // lock.
        var former: Lane?
        defer { withExtendedLifetime(former) {} }
        return lanes.withLock { lanes in
            former = lanes[address]?.lane
            // If an actor was deallocated and this one has its address, the lane found is the former actor's.
            if let former, former.isLane(of: actor) { return former }
            let lane = Lane(.actor, of: actor)
            lanes[address] = KnownLane(lane)
            return lane
        }
    }

    /// Removes a lane that is being deinitialized. Loads no weak reference, because releasing that under the lock could
    /// run another lane's deinit, which would wait for this lock forever.
    func forget(_ lane: Lane) {
        lanes.withLock { lanes in
            // The address may belong to another actor now.
            if lanes[lane.home]?.identity == ObjectIdentifier(lane) { lanes[lane.home] = nil }
        }
    }
}
