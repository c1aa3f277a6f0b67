internal import Dispatch

/// A listener as it is shown in a description or a snapshot.
package struct ShownListener {
    package let entry: ListenerEntry
    /// The owner; nil if the token owns the listener. For an entry that forwards to a pattern's listener, that
    /// listener's owner.
    package let owner: AnyObject?
    package let priority: ListenerPriority

    package var missedCount: Int { entry.missedCount }

    /// The counts of its messages; nil if they are not counted.
    package var accounts: ListenerAccounts? {
        entry.accounts ?? (entry.list?.isObserved == true ? ListenerAccounts() : nil)
    }
}

extension ShownListener: CustomStringConvertible {
    /// One line: owner, delivery, priority, counts, site.
    package var description: String {
        var line = "\(owner.map { "\(type(of: $0))" } ?? "token"), \(entry.deliveryKind), priority \(priority)"
        if entry.isPaused { line += ", paused" }
        let accounts = accounts
        if let accounts { line += ", \(accounts.delivered) delivered" }
        let counts = [
            (accounts?.waiting ?? 0, "waiting"), (accounts?.dropped ?? 0, "dropped"), (missedCount, "missed"),
        ]
        for (count, what) in counts where count > 0 { line += ", \(count) \(what)" }
        line += entry.list?.activeInstrument?.summary(of: entry) ?? ""
        return line + ", \(entry.site.site)"
    }
}

extension ListenerList {
    /// The listeners in the order of delivery, interceptors first.
    package var shown: [ShownListener] {
        var shown: [ShownListener] = []
        forEachEntry { entry in
            guard !entry.hasEnded, let level = entry.level?.object else { return }
            let listener = entry.forwarder?.object.listener ?? entry
            let owner = listener.owner
            guard owner != nil || !listener.hasOwner else { return }
            shown.append(ShownListener(entry: entry, owner: owner, priority: ListenerPriority(level.rank.priority)))
        }
        return shown
    }
}

/// The lane of an actor or a queue, as it is shown in a description or a snapshot.
package struct ShownLane {
    private let lane: Lane
    /// The type of the actor or the label of the queue.
    package let name: String

    fileprivate init(_ lane: Lane) {
        switch lane.target {
        case .mainActor: name = "MainActor"
        case .actor: name = lane.actor.map { "\(type(of: $0))" } ?? "a deallocated actor"
        case .queue(let queue): name = queue.label
        }
        self.lane = lane
    }

    package var id: ObjectIdentifier { ObjectIdentifier(lane) }

    /// The number of messages queued in it, not counting up to 256 that its drain has already taken out.
    package var waitingCount: Int { lane.lock.withLock { lane.state.count } }
}

extension ListenerEntry {
    /// The lane in which its messages wait; nil if it has none.
    package var lane: ShownLane? { mailbox.map { ShownLane($0.lane) } }

    /// Whether messages wait for it before they are delivered.
    package var hasMailbox: Bool { mailbox != nil || isRead }

    package var deliveryKind: DeliveryKind {
        if isInterceptor { return .interceptor }
        if isForwarder { return .pattern }
        if isRead { return knownSequence.borrow { $0.calls == nil } ? .sequence : .async }
        guard let mailbox else { return isResponder ? .responder : .direct }
        return switch mailbox.lane.target {
        case .mainActor: .mainActor
        case .actor: .actor
        case .queue: .queue
        }
    }
}
