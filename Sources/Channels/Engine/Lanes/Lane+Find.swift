internal import Dispatch

// Which lane a listener has: looked up when it is registered, never when something is posted.
//
// A mailbox keeps its lane. The table of actors, and a queue, know theirs weakly.
extension Lane {
    static let main = Lane(.mainActor, of: MainActor.shared)

    /// The lane of an actor.
    static func of(_ actor: any Actor) -> Lane {
        let address = Unretained<AnyObject>(actor).address
        return address == main.home ? main : ActorLanes.shard(of: address).lane(of: actor, address)
    }

    /// The lane of a dispatch queue. A global concurrent queue keeps no order: each listener has one by
    /// itself.
    static func of(_ queue: DispatchQueue) -> Lane {
        if queue.label.hasPrefix("com.apple.root.") { return Lane(.queue(queue)) }
        return queueLanes.withLock { _ in
            // Kept by the queue, because its address says nothing: on Linux an object is made each time one is
            // asked for the main queue.
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

    /// Forgets the lane of an actor. Called when the lane is deallocated.
    static func forget(_ lane: Lane) { ActorLanes.shard(of: lane.home).forget(lane) }

    /// Whether the lane was made for an actor, which the caller holds.
    fileprivate func isLane(of actor: any Actor) -> Bool {
        // Alive at the actor's address, so it is this one, and the caller's reference outlives the one loaded here.
        self.actor != nil && home == Unretained<AnyObject>(actor).address
    }

    private static let queueKey = DispatchSpecificKey<KnownLane>()
    /// Guards the ``KnownLane`` of every queue.
    private static let queueLanes = Locked<Void>(())
}

/// How a queue, or the table of actors, knows a lane, which keeps the queue: weakly.
private final class KnownLane: @unchecked Sendable {  // guarded by `queueLanes`, or the lock of the table
    weak var lane: Lane?
    /// The lane's own address, by which it is recognised when it is being deinitialised.
    let identity: ObjectIdentifier

    init(_ lane: Lane) {
        self.lane = lane
        identity = ObjectIdentifier(lane)
    }
}

/// Some of the actors that have a lane, by address.
private final class ActorLanes: Sendable {
    private static let shards = (0..<16).map { _ in ActorLanes() }

    /// Objects are 16 bytes apart.
    static func shard(of address: UInt) -> ActorLanes { shards[Int(truncatingIfNeeded: address >> 4) & 15] }

    private let lanes = Locked<[UInt: KnownLane]>([:], spins: true)

    func lane(of actor: any Actor, _ address: UInt) -> Lane {
        // Released after the lock: the last reference to a lane runs its deinit, which takes the lock.
        var former: Lane?
        defer { withExtendedLifetime(former) {} }
        return lanes.withLock { lanes in
            former = lanes[address]?.lane
            // Another one if the actor it was made for is gone, and this has its address.
            if let former, former.isLane(of: actor) { return former }
            let lane = Lane(.actor, of: actor)
            lanes[address] = KnownLane(lane)
            return lane
        }
    }

    /// Removes a lane that is being deinitialised. Loads no weak reference: released under the lock, it could be the
    /// last, and another lane's deinit would wait for this lock for ever.
    func forget(_ lane: Lane) {
        lanes.withLock { lanes in
            // Not that of an actor which has the address now.
            if lanes[lane.home]?.identity == ObjectIdentifier(lane) { lanes[lane.home] = nil }
        }
    }
}
