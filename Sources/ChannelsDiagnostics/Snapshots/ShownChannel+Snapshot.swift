internal import Channels
internal import Synchronization

extension ShownChannel {
    func snapshot(_ lanes: inout LaneSnapshots) -> ChannelSnapshot {
        let count = list?.isObserved == true ? list?.recorder?.count : nil
        let unreceived = list == nil ? unreceivedCount : nil
        return ChannelSnapshot(
            name: name,
            kind: kind,
            messageType: messageType,
            postCount: count?.posts ?? unreceived,
            unreceivedCount: count?.unreceived ?? unreceived,
            deallocatedOwnerCount: count?.lostOwners,
            countingTime: (count?.nanoseconds).map { .nanoseconds($0) },
            posters: count?.posters ?? [],
            messages: count?.messages ?? [],
            listeners: listeners.map { $0.snapshot(count, &lanes) }
        )
    }
}

extension ShownListener {
    fileprivate func snapshot(_ count: Recorder.Count?, _ lanes: inout LaneSnapshots) -> ListenerSnapshot {
        let accounts = accounts
        let record = entry.recorded
        let isTraced = count?.isTracing == true
        let waited = isTraced ? record?.waited.histogram : nil
        return ListenerSnapshot(
            number: entry.number,
            ownerType: owner.map { "\(type(of: $0))" },
            priority: priority,
            deliveryKind: entry.deliveryKind,
            isPaused: entry.isPaused,
            registrationSite: entry.site.site,
            deliveredCount: accounts?.delivered,
            waitingCount: accounts?.waiting,
            droppedCount: accounts?.dropped,
            missedCount: missedCount,
            maximumWaitingCount: count != nil && entry.hasMailbox
                ? record?.mostWaiting.load(ordering: .relaxed) ?? 0 : nil,
            failureCount: count.map { _ in record?.failures.load(ordering: .relaxed) ?? 0 },
            waitTimes: waited,
            callTimes: isTraced ? record?.spent.histogram : nil,
            laneIndex: lanes.index(of: entry, waited)
        )
    }
}
