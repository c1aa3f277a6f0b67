internal import Dispatch
internal import Synchronization

/// What is counted of a channel while its diagnostics are on.
///
/// Made when they are first switched on, and kept by the list until its `deinit`, so that a post that has
/// found it may use it. `guarded` is guarded by its mutex, under which no user code runs; the rest is atomic.
final class ChannelMeter: Sendable {
    private struct Guarded {
        var diagnostics = Diagnostics.off
        /// The name under which a switchboard watches the channel, if it has none of its own.
        var name: String?
        var instruments: Instruments?
        /// When counting began.
        var start = ChannelMeter.now
        /// How many posts may be counted from when none is traced any more, and what each costs, in nanoseconds.
        var mostCounted = Int.max
        var cost = 0
        /// When posts are counted, if that is limited.
        var ration = Ration()
        /// Posts, counted or not, before the first one that could be traced.
        var untraced = 0
        var posters: [Poster: (type: (any Any.Type)?, posts: Int)] = [:]
        var messages: [KeptText] = []
        /// How many were ever kept since counting began.
        var kept = 0
        /// Where the next message goes once there are as many as are kept.
        var position = 0

        var inOrder: [KeptText] { Array(messages[position...] + messages[..<position]) }
    }

    private struct KeptText {
        let number: Int
        let time: Int
        let text: String
        let sender: String?
        let origin: Origin
    }

    private struct Poster: Hashable {
        /// Nil for posts without a sender, and for those beyond ``mostPosters``.
        var type: ObjectIdentifier?
        var site = PackedSite.unknown
    }

    /// Posters told apart; the others are counted together.
    private static let mostPosters = 256

    private let guarded = Locked(Guarded())
    /// What the channel was created with: nobody switches off what it asked for.
    private let own: Diagnostics
    /// Whether anything is counted or recorded: also while posts are not counted, because that is limited.
    let isOn = Atomic<Bool>(false)
    private let isTracing = Atomic<Bool>(false)
    /// Posts counted. With so many, counting them has cost as much as it may.
    let posts = Atomic<Int>(0)
    private let limit = Atomic<Int>(.max)
    /// Whether the first post that is not traced sets the limit: until then, posts are slower than they would be.
    private let setsLimit = Atomic<Bool>(false)
    /// How much longer posts may be traced, in nanoseconds.
    private let tracingLeft = Atomic<Int>(.max)
    /// Whether any post was counted, but not traced.
    private let hasUntraced = Atomic<Bool>(false)
    /// Posts that reached nobody.
    let unheard = Atomic<Int>(0)
    /// Listeners that ended because their owner was deallocated.
    let lostOwners = Atomic<Int>(0)

    init(_ own: Diagnostics) { self.own = own }

    /// A time of the system's monotonic clock, in nanoseconds.
    static var now: Int { Int(truncatingIfNeeded: DispatchTime.now().uptimeNanoseconds) }

    /// Changes what is recorded. What was counted before is forgotten if nothing was until now.
    ///
    /// - Parameters:
    ///   - listeners: How many there are: more cost more.
    ///   - announce: Called under the lock with whether posts are counted from here on.
    func set(
        _ instruments: Instruments?,
        named name: String?,
        listeners: Int,
        _ setting: () -> Diagnostics,
        _ announce: (Bool) -> Void
    ) {
        let former = guarded.withLock { guarded in
            // Released without the lock.
            let former = guarded
            let diagnostics = setting().beyond(own)
            let wasOn = guarded.diagnostics.isOn
            let now = Self.now
            if !wasOn {
                guarded.start = now
                guarded.ration.slices = CountedSlices(at: now)
                guarded.kept = 0
                posts.store(0, ordering: .relaxed)
                unheard.store(0, ordering: .relaxed)
                lostOwners.store(0, ordering: .relaxed)
            }
            if !wasOn || !diagnostics.isTracing || !guarded.diagnostics.isTracing {
                guarded.posters = [:]
                hasUntraced.store(false, ordering: .relaxed)
                guarded.untraced = guarded.ration.slices.all(at: now, posts: posts.load(ordering: .relaxed))
            }
            if !wasOn || diagnostics.kept != guarded.diagnostics.kept {
                guarded.messages = Array(guarded.inOrder.suffix(wasOn ? diagnostics.kept : 0))
                guarded.position = 0
            }
            // What has used up its share waits until that is renewed, by whoever still does.
            if !diagnostics.limitsCounts || diagnostics.allowance != guarded.diagnostics.allowance {
                guarded.ration.slices.goOn(at: now, posts: posts.load(ordering: .relaxed))
            }
            guarded.diagnostics = diagnostics
            guarded.instruments = instruments
            guarded.name = name ?? guarded.name
            isTracing.store(diagnostics.isTracing, ordering: .relaxed)
            isOn.store(diagnostics.isOn, ordering: .relaxed)
            if guarded.ration.slices.isOpen { ration(&guarded, at: now, listeners: listeners) }
            announce(diagnostics.isOn && guarded.ration.slices.isOpen)
            return former
        }
        withExtendedLifetime(former) {}
    }

    var instruments: Instruments? { guarded.withLock { $0.instruments } }

    var name: String? { guarded.withLock { $0.name } }

    private var diagnostics: Diagnostics { guarded.withLock { $0.diagnostics } }

    /// Notes who posts.
    func notePoster(_ type: (any Any.Type)?, _ site: PackedSite) {
        guarded.withLock { guarded in
            let poster = Poster(type: type.map { ObjectIdentifier($0) }, site: site)
            let isKnown = guarded.posters.count < Self.mostPosters || guarded.posters[poster] != nil
            guarded.posters[isKnown ? poster : Poster(), default: (isKnown ? type : nil, 0)].posts += 1
        }
    }

    /// Keeps the text of a message, if any is to be kept. Runs user code: its description.
    func keep(_ message: MessageAddress, _ layout: MessageLayout, _ event: PostEvent) {
        let diagnostics = diagnostics
        guard diagnostics.kept > 0 else { return }
        // A description that posts would otherwise be asked again for what it posts, without end.
        let text = OwnPosts.areNotInstrumented {
            MessageText(redacted: diagnostics.redacted).text(of: message, layout)
        }
        let time = Self.now
        let sender = event.senderType.map { "\($0)" }
        guarded.withLock { guarded in
            let most = guarded.diagnostics.kept
            guard most > 0 else { return }
            guarded.kept += 1
            let kept = KeptText(number: guarded.kept, time: time, text: text, sender: sender, origin: event.origin)
            if guarded.messages.count < most {
                guarded.messages.append(kept)
            } else {
                guarded.messages[guarded.position] = kept
                guarded.position = (guarded.position + 1) % most
            }
        }
    }
}

// MARK: - What it may cost

extension ChannelMeter {
    /// So many posts are counted at least: how far apart a few are says nothing.
    private static let fewest = 8

    /// Counts a post.
    ///
    /// - Returns: Whether that has cost as much as it may: the caller goes on with ``stop(_:)``.
    @inline(__always)
    func countPost() -> Bool {
        posts.wrappingAdd(1, ordering: .relaxed).newValue >= limit.load(ordering: .relaxed)
    }

    /// Stops counting, if that has cost as much as it may.
    ///
    /// - Parameter announce: Called under the lock if posts are not counted from here on.
    /// - Returns: The allowance, if it is to be told.
    func stop(_ announce: () -> Void) -> MeteringAllowance? {
        guarded.withLock { guarded in
            let posts = posts.load(ordering: .relaxed)
            // Another thread was first, or it was renewed meanwhile.
            guard guarded.diagnostics.limitsCounts, guarded.ration.slices.isOpen,
                posts >= limit.load(ordering: .relaxed)
            else { return nil }
            announce()
            return guarded.ration.stop(
                at: Self.now,
                posts: posts,
                cost: guarded.cost,
                of: guarded.diagnostics.allowance
            )
        }
    }

    /// See ``Rationed/renew(_:goesOn:)``.
    ///
    /// - Parameter announce: Called under the lock if posts are counted from here on.
    func renew(_ allowance: MeteringAllowance, goesOn: Bool, listeners: Int, _ announce: () -> Void) {
        guarded.withLock { guarded in
            let (own, now, posts) = (guarded.diagnostics.allowance, Self.now, posts.load(ordering: .relaxed))
            guard guarded.ration.renew(allowance, goesOn: goesOn, of: own, at: now, posts: posts) else { return }
            ration(&guarded, at: now, listeners: listeners)
            announce()
        }
    }

    /// Says how many posts may be counted, and for how long posts may be traced, from now on.
    private func ration(_ guarded: inout Guarded, at now: Int, listeners: Int) {
        let due = guarded.ration.takeDue(of: guarded.diagnostics.allowance, at: now)
        let limitsCounts = guarded.diagnostics.limitsCounts
        guarded.cost = MeteringAllowance.costOfCounting(listeners: listeners)
        guarded.mostCounted = max((due?.counting ?? 0) / guarded.cost, Self.fewest)
        limit.store(.max, ordering: .relaxed)
        if guarded.diagnostics.limitsTraces, let due {
            // What was too much is paid back.
            let left = tracingLeft.load(ordering: .relaxed)
            tracingLeft.store(min(left, 0) + due.tracing, ordering: .relaxed)
        } else {
            tracingLeft.store(.max, ordering: .relaxed)
        }
        let tracesFirst = guarded.diagnostics.isTracing && tracingLeft.load(ordering: .relaxed) > 0
        setsLimit.store(limitsCounts && tracesFirst, ordering: .relaxed)
        if limitsCounts, !tracesFirst { setLimit(&guarded) }
    }

    private func setLimit(_ guarded: inout Guarded) {
        limit.store(posts.load(ordering: .relaxed) + guarded.mostCounted, ordering: .relaxed)
    }

    /// Whether a post is to be traced.
    @inline(__always)
    var traces: Bool { isTracing.load(ordering: .relaxed) && tracingLeft.load(ordering: .relaxed) > 0 }

    /// A post that is counted was not traced.
    @inline(__always)
    func noteUntraced() {
        guard isTracing.load(ordering: .relaxed) else { return }
        // Not written again and again: other threads look at the same line.
        if !hasUntraced.load(ordering: .relaxed) { hasUntraced.store(true, ordering: .relaxed) }
        if setsLimit.load(ordering: .relaxed) { stopTracing() }
    }

    /// Tracing has cost as much as it may: from here on, posts are only counted.
    @inline(never)
    private func stopTracing() {
        guarded.withLock { guarded in
            guard setsLimit.exchange(false, ordering: .relaxed), guarded.ration.slices.isOpen else { return }
            guarded.ration.slices.takeRate(from: Self.now, posts: posts.load(ordering: .relaxed))
            setLimit(&guarded)
        }
    }

    /// Tracing a post has taken a time.
    func spent(_ nanoseconds: Int) {
        guard tracingLeft.load(ordering: .relaxed) != .max else { return }
        // If that is lifted meanwhile, so little is missing from what cannot be used up.
        tracingLeft.wrappingSubtract(nanoseconds, ordering: .relaxed)
    }
}

// MARK: - What was counted

extension ChannelMeter {
    /// What was counted so far; what was not, because that is limited, is extrapolated.
    struct Count {
        var posts: Int
        var unheard: Int
        var lostOwners: Int
        var nanoseconds: Int
        /// The share of the time in which posts were counted; nil if they all were.
        var countedShare: Double?
        /// The share of the posts that were traced; nil if all were, or none was to be.
        var tracedShare: Double?
        /// What each post that was counted stands for.
        var weight = 1.0
        var isTracing: Bool
        var posters: [PosterSnapshot]
        /// The messages kept, the oldest first.
        var messages: [MessageSnapshot]

        /// The calls of a listener, where they are only counted while posts are.
        func extrapolated(_ calls: Int) -> Int { weight == 1 ? calls : Int(Double(calls) * weight) }
    }

    var count: Count {
        // Their elements are copied under the lock. A copy that shares its buffer with what posts go on writing to would
        // cost one of them a copy of all, and the thread sanitizer does not see the reference count that orders
        // the two.
        let (diagnostics, slices, start, untraced, posters, messages, now) = guarded.withLock {
            ($0.diagnostics, $0.ration.slices, $0.start, $0.untraced, Array($0.posters), $0.inOrder, Self.now)
        }
        let counted = posts.load(ordering: .relaxed)
        let all = slices.all(at: now, posts: counted)
        let weight = Double(all) / Double(max(counted, 1))
        let traced = posters.reduce(0) { $0 + $1.value.posts }
        let isSample = hasUntraced.load(ordering: .relaxed) || slices.share(at: now) != nil
        var tracedShare: Double?
        if diagnostics.limitsTraces, isSample {
            tracedShare = min(1, Double(traced) / Double(max(all - untraced, traced, 1)))
        }
        var count = Count(
            posts: all,
            unheard: unheard.load(ordering: .relaxed),
            lostOwners: lostOwners.load(ordering: .relaxed),
            nanoseconds: now - start,
            countedShare: slices.share(at: now),
            tracedShare: tracedShare,
            weight: weight,
            isTracing: diagnostics.isTracing,
            posters: posters.map { poster, counted in
                PosterSnapshot(
                    senderType: counted.type.map { "\($0)" },
                    site: poster.site == .unknown ? nil : poster.site.site,
                    posts: tracedShare.map { $0 > 0 ? Int(Double(counted.posts) / $0) : 0 } ?? counted.posts
                )
            }
            .sorted { $0.posts > $1.posts },
            messages: messages.map { MessageSnapshot($0.number, now - $0.time, $0.text, $0.sender, $0.origin) }
        )
        count.unheard = count.extrapolated(count.unheard)
        return count
    }
}

extension MessageSnapshot {
    fileprivate init(_ number: Int, _ age: Int, _ text: String, _ sender: String?, _ origin: Origin) {
        var remote: String?
        if case .remote(let process) = origin { remote = process }
        self.init(number: number, ageNanoseconds: age, text: text, senderType: sender, remoteOrigin: remote)
    }
}
