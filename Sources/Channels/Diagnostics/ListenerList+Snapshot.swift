internal import Synchronization

extension ListenerList {
    func snapshot(
        name: String,
        kind: ChannelKind,
        messageType: String,
        _ lanes: inout LaneSnapshots
    ) -> ChannelSnapshot {
        let count = isObserved ? recorder?.count : nil
        var listeners: [ListenerSnapshot] = []
        forEachEntry { entry in
            guard !entry.hasEnded, let level = entry.level?.object else { return }
            // What stands for the listener of a pattern is that one's owner's.
            let listener = entry.forwarder?.object.listener ?? entry
            let owner = listener.owner
            guard owner != nil || !listener.hasOwner else { return }
            listeners.append(entry.snapshot(owner, priority: level.rank.priority, count, &lanes))
        }
        return ChannelSnapshot(
            name: name,
            kind: kind,
            messageType: messageType,
            postCount: count?.posts,
            unreceivedCount: count?.unreceived,
            deallocatedOwnerCount: count?.lostOwners,
            countingTime: (count?.nanoseconds).map { .nanoseconds($0) },
            posters: count?.posters ?? [],
            messages: count?.messages ?? [],
            listeners: listeners
        )
    }
}

extension ListenerEntry {
    fileprivate func snapshot(
        _ owner: AnyObject?,
        priority: Int,
        _ count: Recorder.Count?,
        _ lanes: inout LaneSnapshots
    ) -> ListenerSnapshot {
        let accounts = accounts ?? count.map { _ in ListenerAccounts() }
        let isTraced = count?.isTracing == true
        let record = record
        let waited = isTraced ? record?.waited.histogram : nil
        return ListenerSnapshot(
            number: word.load(ordering: .relaxed) & Self.number,
            ownerType: owner.map { "\(type(of: $0))" },
            priority: Priority(priority),
            delivery: delivery,
            isPaused: isPaused,
            registrationSite: site.site,
            deliveredCount: accounts?.delivered,
            waitingCount: accounts?.waiting,
            droppedCount: accounts?.dropped,
            missedCount: missedCount,
            maximumWaitingCount: count != nil && (mailbox != nil || isSequence)
                ? record?.mostWaiting.load(ordering: .relaxed) ?? 0 : nil,
            failureCount: count.map { _ in record?.failures.load(ordering: .relaxed) ?? 0 },
            waitTimes: waited,
            callTimes: isTraced ? record?.spent.histogram : nil,
            laneIndex: mailbox.flatMap { lanes.index(of: $0.lane, waited) }
        )
    }

    var delivery: ListenerSnapshot.Delivery {
        if isInterceptor { return .interceptor }
        if isForwarder { return .pattern }
        if isSequence { return .sequence }
        guard let mailbox else { return isResponder ? .responder : .direct }
        return switch mailbox.lane.target {
        case .mainActor: .mainActor
        case .actor: .actor
        case .queue: .queue
        case .awaiting: .async
        }
    }
}
