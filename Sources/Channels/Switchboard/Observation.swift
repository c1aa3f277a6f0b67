internal import Synchronization

/// What a switchboard counts and records of its channels, and whom it tells.
///
/// `guarded` is guarded by its mutex, under which no user code runs; `isOn` is written under it.
final class Observation: Sendable {
    private struct Guarded {
        var diagnostics: Diagnostics
        var unheard: [String: (type: any Any.Type, posts: Int)] = [:]
        /// All of them. With so many, counting them has cost as much as it may.
        var unheardCount = 0
        var unheardLimit = Int.max
        /// When they are counted, if that is limited.
        var ration = Ration()
        /// By their lists.
        var watched: [ObjectIdentifier: Watched] = [:]
        var lastNumber = 0
        /// With so many, those that have gone are looked for.
        var mostWatched = 64
    }

    /// A channel that is shown beside the named ones. Only the reference to it is weak: its list takes some
    /// memory until it is found to be gone.
    struct Watched {
        /// Counts up with each that is new.
        fileprivate(set) var number = 0
        let name: String
        let kind: ChannelKind
        let messageType: String
        let list: ListenerList
        weak var channel: AnyObject?
    }

    /// Names without a channel for which posts are counted; further names are not.
    private static let mostUnheard = 1_024

    let instruments = Instruments()
    private let guarded: Locked<Guarded>
    private let isOn: Atomic<Bool>
    /// Whether posts to names without a channel are counted.
    private let countsUnheard: Atomic<Bool>
    /// How many channels have been made since it was renewed what counting may cost, and of how many of them posts
    /// are counted from the start.
    private let made = Atomic<Int>(0)
    private let mostMade = Atomic<Int>(.max)

    init(_ diagnostics: Diagnostics) {
        guarded = Locked(Guarded(diagnostics: diagnostics))
        isOn = Atomic(diagnostics.isOn)
        countsUnheard = Atomic(diagnostics.isOn)
    }

    var diagnostics: Diagnostics { guarded.withLock { $0.diagnostics } }

    /// Stores what is to be counted from here on. The caller then applies it to every list.
    func set(_ diagnostics: Diagnostics) {
        guarded.withLock { guarded in
            let now = ChannelMeter.now
            if !guarded.diagnostics.isOn {
                guarded.unheard = [:]
                guarded.unheardCount = 0
                guarded.ration.slices = CountedSlices(at: now)
            }
            guarded.diagnostics = diagnostics
            guarded.ration.slices.goOn(at: now, posts: guarded.unheardCount)
            ration(&guarded, at: now)
            countsUnheard.store(diagnostics.isOn, ordering: .relaxed)
            isOn.store(diagnostics.isOn, ordering: .sequentiallyConsistent)
        }
    }

    /// Counts of a list what is to be counted now.
    func apply(to list: ListenerList, named name: String? = nil) {
        guard isOn.load(ordering: .sequentiallyConsistent) || list.wasMetered || name != nil else { return }
        list.measure(instruments, named: name) { diagnostics }
    }

    /// Whether posts on a channel that is being made are counted from the start.
    ///
    /// A post to a name that only patterns hear makes a channel for itself; to count on each of them would cost as much
    /// as the post. What lasts is counted from the next renewal on.
    func countsAnother() -> Bool {
        guard isOn.load(ordering: .relaxed) else { return true }
        return made.wrappingAdd(1, ordering: .relaxed).newValue <= mostMade.load(ordering: .relaxed)
    }

    // MARK: Names without a channel

    /// A message was posted to a name that has no channel.
    func noteUnheard(_ name: @autoclosure () -> String, _ type: any Any.Type) {
        guard countsUnheard.load(ordering: .relaxed) else { return }
        let name = name()
        let allowance = guarded.withLock { guarded -> MeteringAllowance? in
            guard guarded.ration.slices.isOpen else { return nil }
            guarded.unheardCount += 1
            if guarded.unheard.count < Self.mostUnheard || guarded.unheard[name] != nil {
                guarded.unheard[name, default: (type, 0)].posts += 1
            }
            guard guarded.unheardCount >= guarded.unheardLimit else { return nil }
            countsUnheard.store(false, ordering: .relaxed)
            return guarded.ration.stop(
                at: ChannelMeter.now,
                posts: guarded.unheardCount,
                cost: Self.costOfUnheard,
                of: guarded.diagnostics.allowance
            )
        }
        allowance?.enqueue(self)
    }

    /// Posts to each of these names, and the share of the time in which they were counted.
    var unheard: (names: [(name: String, type: any Any.Type, posts: Int)], share: Double?) {
        guarded.withLock { guarded in
            guard guarded.diagnostics.isOn else { return ([], nil) }
            let now = ChannelMeter.now
            let all = guarded.ration.slices.all(at: now, posts: guarded.unheardCount)
            let weight = Double(all) / Double(max(guarded.unheardCount, 1))
            let names = guarded.unheard.map { ($0.key, $0.value.type, Int(Double($0.value.posts) * weight)) }
            return (names, guarded.ration.slices.share(at: now))
        }
    }

    // MARK: Channels without a name

    func watch(_ channel: Watched) {
        var channel = channel
        let gone = guarded.withLock { guarded in
            var gone: [Watched] = []
            if guarded.watched.count >= guarded.mostWatched {
                gone = guarded.watched.values.filter(\.list.hasClosed)
                for each in gone { guarded.watched[ObjectIdentifier(each.list)] = nil }
                guarded.mostWatched = 2 * guarded.watched.count + 64
            }
            guarded.lastNumber += 1
            channel.number = guarded.watched[ObjectIdentifier(channel.list)]?.number ?? guarded.lastNumber
            guarded.watched[ObjectIdentifier(channel.list)] = channel
            // Released without the lock.
            return gone
        }
        withExtendedLifetime(gone) {}
    }

    /// The channels that are watched, in the order in which they were first.
    var watched: [(channel: AnyObject, watched: Watched)] {
        // Channels are retained without the lock, because releasing one may run user code.
        guarded.withLock { Array($0.watched.values) }
            .sorted { $0.number < $1.number }
            .compactMap { each in each.channel.map { ($0, each) } }
    }
}

// MARK: - What it may cost

extension Observation: Rationed {
    /// Nanoseconds that it costs to count a post to a name without a channel.
    private static var costOfUnheard: Int { 250 }
    /// The same for a channel that is made.
    private static var costOfAnother: Int { 2_000 }

    func renew(_ allowance: MeteringAllowance, goesOn: Bool) {
        guarded.withLock { guarded in
            let (own, now, posts) = (guarded.diagnostics.allowance, ChannelMeter.now, guarded.unheardCount)
            guard guarded.ration.renew(allowance, goesOn: goesOn, of: own, at: now, posts: posts) else { return }
            ration(&guarded, at: now)
            countsUnheard.store(true, ordering: .relaxed)
        }
    }

    /// Says how many may be counted from now on.
    private func ration(_ guarded: inout Guarded, at now: Int) {
        let due = guarded.ration.takeDue(of: guarded.diagnostics.allowance, at: now)?.counting
        guard guarded.diagnostics.limitsCounts, let due else {
            guarded.unheardLimit = .max
            mostMade.store(.max, ordering: .relaxed)
            return
        }
        guarded.unheardLimit = guarded.unheardCount + max(due / Self.costOfUnheard, 8)
        made.store(0, ordering: .relaxed)
        mostMade.store(max(due / Self.costOfAnother, 8), ordering: .relaxed)
    }
}
