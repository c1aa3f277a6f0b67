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
                guarded.posters = [:]
            }
            if !wasOn || diagnostics.kept != guarded.diagnostics.kept {
                guarded.messages = Array(guarded.inOrder.suffix(wasOn ? diagnostics.kept : 0))
                guarded.position = 0
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
        let time = MonotonicClock.now
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
        // Their elements are copied under the lock. A copy that shares its buffer with what posts go on writing to would
        // cost one of them a copy of all, and the thread sanitizer does not see the reference count that orders
        // the two.
        let (diagnostics, start, posters, messages, now) = guarded.withLock {
            ($0.diagnostics, $0.start, Array($0.posters), $0.inOrder, MonotonicClock.now)
        }
        return Count(
            posts: posts.load(ordering: .relaxed),
            unheard: unheard.load(ordering: .relaxed),
            lostOwners: lostOwners.load(ordering: .relaxed),
            nanoseconds: now - start,
            isTracing: diagnostics.isTracing,
            posters: posters.map { poster, counted in
                PosterSnapshot(
                    senderType: counted.type.map { "\($0)" },
                    site: poster.site == .unknown ? nil : poster.site.site,
                    posts: counted.posts
                )
            }
            .sorted { $0.posts > $1.posts },
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
