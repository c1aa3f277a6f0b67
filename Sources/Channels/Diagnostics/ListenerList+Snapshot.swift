internal import Synchronization

extension ListenerList {
    /// The channel as it is now.
    func snapshot(
        name: String,
        kind: ChannelKind,
        messageType: String,
        _ lanes: inout LaneSnapshots
    ) -> ChannelSnapshot {
        let meter = meter
        var interceptors: [ListenerSnapshot] = []
        var listeners: [ListenerSnapshot] = []
        forEachEntry { entry in
            guard entry.isActive, let level = entry.level?.object else { return }
            let owner = entry.owner
            guard owner != nil || !entry.hasOwner else { return }
            let snapshot = entry.snapshot(owner, priority: level.priority, meter, &lanes)
            if level.isForInterceptors { interceptors.append(snapshot) } else { listeners.append(snapshot) }
        }
        return ChannelSnapshot(
            name: name,
            kind: kind,
            messageType: messageType,
            posts: meter?.posts.load(ordering: .relaxed),
            unheard: meter?.unheard.load(ordering: .relaxed),
            lostOwners: meter?.lostOwners.load(ordering: .relaxed),
            countedNanoseconds: meter?.setting.nanoseconds,
            posters: meter?.posters ?? [],
            messages: meter?.messages ?? [],
            listeners: interceptors + listeners
        )
    }
}

extension ListenerEntry {
    fileprivate func snapshot(
        _ owner: AnyObject?,
        priority: Int,
        _ meter: ChannelMeter?,
        _ lanes: inout LaneSnapshots
    ) -> ListenerSnapshot {
        let counters = counters?.object
        // The calls of responders are counted only with diagnostics on.
        let accounts = delivery == .responder && meter == nil ? nil : accounts ?? meter.map { _ in ListenerAccounts() }
        let isTraced = meter?.isTracing.load(ordering: .relaxed) == true
        let waited = isTraced ? counters?.times?.borrow { $0.waited.histogram } : nil
        return ListenerSnapshot(
            number: word.load(ordering: .relaxed) & Self.number,
            ownerType: owner.map { "\(type(of: $0))" },
            priority: priority,
            delivery: delivery,
            isPaused: isPaused,
            registrationSite: site.site,
            delivered: accounts?.delivered,
            waiting: accounts?.waiting,
            dropped: accounts?.dropped,
            missed: counters?.missedCount ?? 0,
            mostWaiting: meter != nil && mailbox != nil ? counters?.mostWaiting : nil,
            failures: meter.map { _ in counters?.failureCount ?? 0 },
            waited: waited,
            spent: isTraced ? counters?.times?.borrow { $0.spent.histogram } : nil,
            lane: mailbox?.lane.flatMap { lanes.index(of: $0, waited) }
        )
    }

    /// How messages reach the listener.
    var delivery: ListenerSnapshot.Delivery {
        if let level, level.borrow(\.isForInterceptors) { return .interceptor }
        if isForwarder { return .pattern }
        guard let mailbox else { return counters?.borrow { $0.responderCalls } != nil ? .responder : .direct }
        return switch mailbox.lane?.target {
        case .mainActor: .mainActor
        case .actor: .actor
        case .queue: .queue
        case .awaiting: .async
        case nil: .sequence
        }
    }
}
