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
        var start = MonotonicClock.now
        /// Those who post most come first. Without a type for posts without a sender, and for those beyond
        /// ``mostPosters``.
        var posters: [(type: (any Any.Type)?, site: PackedSite, posts: Int)] = []
        /// The oldest first; a few more than are to be kept, so that not each moves all others.
        var messages: [KeptText] = []
        /// How many were ever kept since counting began.
        var kept = 0

        mutating func notePoster(_ type: (any Any.Type)?, _ site: PackedSite) {
            if let place = posters.firstIndex(where: { $0.type == type && $0.site == site }) {
                let posts = posters[place].posts
                let first = posters.firstIndex { $0.posts == posts } ?? place
                posters.swapAt(place, first)
                posters[first].posts += 1
            } else if posters.count < mostPosters || type == nil && site == .unknown {
                posters.append((type, site, 1))
            } else {
                notePoster(nil, .unknown)
            }
        }

        func last(_ count: Int) -> [KeptText] { Array(messages.suffix(count)) }
    }

    private typealias KeptText = (number: Int, time: Int, text: String, sender: String?, origin: Origin)

    /// Posters told apart; the others are counted together.
    private static let mostPosters = 256
    /// So many messages more than are to be kept may be there.
    private static let mostToSpare = 64

    private let guarded = Locked(Guarded())
    /// What the channel was created with: nobody switches off what it asked for.
    private let own: Diagnostics
    private let isTracing = Atomic<Bool>(false)
    private let posts = Atomic<Int>(0)
    /// Posts that reached nobody.
    let unheard = Atomic<Int>(0)
    /// Listeners that ended because their owner was deallocated.
    let lostOwners = Atomic<Int>(0)

    init(_ own: Diagnostics) { self.own = own }

    /// Changes what is recorded. What was counted before is forgotten if nothing was until now.
    ///
    /// - Parameter announce: Called under the lock with whether posts are counted from here on.
    func set(
        _ instruments: Instruments?,
        named name: String?,
        _ setting: () -> Diagnostics,
        _ announce: (Bool) -> Void
    ) {
        let former = guarded.withLock { guarded in
            // Released without the lock.
            let former = guarded
            let diagnostics = setting().combined(with: own)
            let wasOn = guarded.diagnostics.isOn
            if !wasOn {
                guarded.start = MonotonicClock.now
                guarded.kept = 0
                posts.store(0, ordering: .relaxed)
                unheard.store(0, ordering: .relaxed)
                lostOwners.store(0, ordering: .relaxed)
            }
            if !wasOn || !diagnostics.isTracing || !guarded.diagnostics.isTracing {
                guarded.posters = []
            }
            if !wasOn || diagnostics.kept != guarded.diagnostics.kept {
                guarded.messages = guarded.last(wasOn ? min(guarded.diagnostics.kept, diagnostics.kept) : 0)
            }
            guarded.diagnostics = diagnostics
            guarded.instruments = instruments
            guarded.name = name ?? guarded.name
            isTracing.store(diagnostics.isTracing, ordering: .relaxed)
            announce(diagnostics.isOn)
            return former
        }
        withExtendedLifetime(former) {}
    }

    var instruments: Instruments? { guarded.withLock { $0.instruments } }

    var name: String? { guarded.withLock { $0.name } }

    private var diagnostics: Diagnostics { guarded.withLock { $0.diagnostics } }

    /// Whether a post is to be traced.
    @inline(__always)
    var traces: Bool { isTracing.load(ordering: .relaxed) }

    @inline(__always)
    func countPost() { posts.wrappingAdd(1, ordering: .relaxed) }

    /// Notes who posts.
    func notePoster(_ type: (any Any.Type)?, _ site: PackedSite) {
        guarded.withLock { $0.notePoster(type, site) }
    }

    /// Keeps the text of a message, if any is to be kept. Runs user code: its description.
    func keep(_ message: MessageAddress, _ layout: MessageLayout, _ event: PostEvent) {
        let diagnostics = diagnostics
        guard diagnostics.kept > 0 else { return }
        // A description that posts would otherwise be asked again for what it posts, without end.
        let text = OwnPosts.areNotInstrumented {
            MessageText(redacted: diagnostics.redacted).text(of: message, layout)
        }
        let time = MonotonicClock.now
        let sender = event.senderType.map { "\($0)" }
        guarded.withLock { guarded in
            let most = guarded.diagnostics.kept
            guard most > 0 else { return }
            guarded.kept += 1
            guarded.messages.append((guarded.kept, time, text, sender, event.origin))
            if guarded.messages.count > most + Self.mostToSpare { guarded.messages = guarded.last(most) }
        }
    }
}

// MARK: - What was counted

extension ChannelMeter {
    /// What was counted so far.
    struct Count {
        var posts: Int
        var unheard: Int
        var lostOwners: Int
        var nanoseconds: Int
        var isTracing: Bool
        var posters: [PosterSnapshot]
        /// The messages kept, the oldest first.
        var messages: [MessageSnapshot]
    }

    var count: Count {
        // Their elements are copied under the lock. A copy that shares its buffer with what posts go on writing to
        // would cost one of them a copy of all, and the thread sanitizer does not see the reference count that
        // orders the two.
        let (diagnostics, start, posters, messages, now) = guarded.withLock {
            ($0.diagnostics, $0.start, $0.posters.map { $0 }, $0.last($0.diagnostics.kept), MonotonicClock.now)
        }
        return Count(
            posts: posts.load(ordering: .relaxed),
            unheard: unheard.load(ordering: .relaxed),
            lostOwners: lostOwners.load(ordering: .relaxed),
            nanoseconds: now - start,
            isTracing: diagnostics.isTracing,
            posters: posters.map { type, site, posts in
                PosterSnapshot(
                    senderType: type.map { "\($0)" },
                    site: site == .unknown ? nil : site.site,
                    posts: posts
                )
            },
            messages: messages.map { MessageSnapshot($0.number, now - $0.time, $0.text, $0.sender, $0.origin) }
        )
    }
}

extension MessageSnapshot {
    fileprivate init(_ number: Int, _ age: Int, _ text: String, _ sender: String?, _ origin: Origin) {
        var remote: String?
        if case .remote(let process) = origin { remote = process }
        self.init(number: number, ageNanoseconds: age, text: text, senderType: sender, remoteOrigin: remote)
    }
}
