internal import Dispatch

// Which lane a listener has: looked up when it is registered, never when something is posted. A mailbox keeps
// its lane alive; the table of actors, and a queue, reference theirs weakly.
extension Lane {
    static let main = Lane(.mainActor, of: MainActor.shared)

    static func of(_ actor: any Actor) -> Lane {
        let address = Unretained<AnyObject>(actor).address
        return address == main.home ? main : ActorLanes.shard(of: address).lane(of: actor, address)
    }

    /// Returns the lane of a queue. Global concurrent queues keep no order: each listener has its own lane.
    static func of(_ queue: DispatchQueue) -> Lane {
        if queue.label.hasPrefix("com.apple.root.") { return Lane(.queue(queue)) }
        return queueLanes.withLock { _ in
            // Stored in the queue, not by address: on Linux, each use of the main queue makes an object.
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
        // A living actor at this address is this one, and the caller's reference outlives the one loaded.
        self.actor != nil && home == Unretained<AnyObject>(actor).address
    }

    private static let queueKey = DispatchSpecificKey<KnownLane>()
    /// Guards the ``KnownLane`` of every queue.
    private static let queueLanes = Locked<Void>(())
}

/// A weak reference from a queue, or the table of actors, to a lane.
private final class KnownLane: @unchecked Sendable {  // guarded by `queueLanes`, or the lock of the table
    weak var lane: Lane?
    /// Recognises the lane while it is being deinitialised.
    let identity: ObjectIdentifier

    init(_ lane: Lane) {
        self.lane = lane
        identity = ObjectIdentifier(lane)
    }
}

/// Some of the actors that have a lane, by address.
private final class ActorLanes: Sendable {
    private static let shards = (0..<16).map { _ in ActorLanes() }

    /// Objects are aligned to 16 bytes.
    static func shard(of address: UInt) -> ActorLanes { shards[Int(truncatingIfNeeded: address >> 4) & 15] }

    private let lanes = Locked<[UInt: KnownLane]>([:], spins: true)

    func lane(of actor: any Actor, _ address: UInt) -> Lane {
        // Released after the lock: the last reference to a lane runs its deinit, which takes the lock.
        var former: Lane?
        defer { withExtendedLifetime(former) {} }
        return lanes.withLock { lanes in
            former = lanes[address]?.lane
            // It is another actor's if that was deallocated and this one has its address.
            if let former, former.isLane(of: actor) { return former }
            let lane = Lane(.actor, of: actor)
            lanes[address] = KnownLane(lane)
            return lane
        }
    }

    /// Removes a lane that is being deinitialised. Loads no weak reference: releasing it under the lock could
    /// run another lane's deinit, which would wait for this lock forever.
    func forget(_ lane: Lane) {
        lanes.withLock { lanes in
            // The address may belong to another actor now.
            if lanes[lane.home]?.identity == ObjectIdentifier(lane) { lanes[lane.home] = nil }
        }
    }
}
