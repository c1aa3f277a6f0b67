internal import Channels
internal import Synchronization

// How a channel is counted and traced while its diagnostics are on.
//
// A list calls its instrument (`ListInstrument`) if that is switched on. The instrument is a `Recorder`,
// which counts posts and keeps texts of messages (`MessageText`). Listeners count in their `ListenerRoute`
// and `ListenerRecord`. A traced message carries a `PostTrace`, which calls the instruments of the
// switchboard. Snapshots show all of it.

/// Counts and records what happens on a channel while its diagnostics are on.
///
/// It is created when they are first switched on, and kept until the list's `deinit`, so a post that finds it
/// may use it. `guarded` is guarded by its lock, under which no user code runs. Everything else is atomic.
final class Recorder: ListInstrument {
    private struct Guarded {
        var diagnostics = Switchboard.Diagnostics.off
        /// The name under which a switchboard watches the channel, if it has none of its own.
        var name: String?
        var instruments: Instruments?
        var start = MonotonicClock.now
        /// Sorted by posts. The type is nil for posts without a sender, and for those beyond ``mostPosters``.
        var posters: [(type: (any Any.Type)?, site: PackedSite, posts: Int)] = []
        /// Oldest first, with up to ``mostToSpare`` extra ones, so that not every new message moves all
        /// others.
        var messages: [KeptText] = []
        /// How many messages were kept since counting began.
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

    private typealias KeptText = (number: Int, time: Int64, text: String, sender: String?, origin: MessageOrigin)

    /// Further posters are counted together.
    private static let mostPosters = 256
    private static let mostToSpare = 64

    private let guarded = Locked(Guarded())
    private let isTracing = Atomic<Bool>(false)
    private let posts = Atomic<Int>(0)
    let unreceived = Atomic<Int>(0)
    private let lostOwners = Atomic<Int>(0)

    /// Changes what is recorded, and resets the counts if diagnostics were off. Calls `announce` under the
    /// lock with whether posts are counted from now on.
    func set(
        _ instruments: Instruments,
        named name: String?,
        _ setting: () -> Switchboard.Diagnostics,
        _ announce: (Bool) -> Void
    ) {
        let former = guarded.withLock { guarded in
            // Returned, so that it is released after unlocking.
            let former = guarded
            let diagnostics = setting()
            let wasOn = guarded.diagnostics.isOn
            if !wasOn {
                guarded.start = MonotonicClock.now
                guarded.kept = 0
                posts.store(0, ordering: .relaxed)
                unreceived.store(0, ordering: .relaxed)
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

    private var diagnostics: Switchboard.Diagnostics { guarded.withLock { $0.diagnostics } }

    var traces: Bool { isTracing.load(ordering: .relaxed) }

    func countPost() { posts.wrappingAdd(1, ordering: .relaxed) }

    func didLoseOwner() { lostOwners.wrappingAdd(1, ordering: .relaxed) }

    func didThrow(_ listener: ListenerEntry) {
        listener.ensureRecord().failures.wrappingAdd(1, ordering: .relaxed)
    }

    func didEnqueue(for listener: ListenerEntry) {
        guard let accounts = listener.accounts else { return }
        listener.ensureRecord().mostWaiting.max(accounts.waiting, ordering: .relaxed)
    }

    func notePoster(_ type: (any Any.Type)?, _ site: PackedSite) {
        guarded.withLock { $0.notePoster(type, site) }
    }

    /// Keeps the text of a message if messages are kept. This runs user code: the message's description.
    func keep(_ frame: FrameReference, of list: ListenerList, _ event: PostEvent) {
        let diagnostics = diagnostics
        guard diagnostics.kept > 0 else { return }
        // Otherwise a description that posts would have to describe its own posts, endlessly.
        let text = Instrumentation.suspended {
            MessageText(redacted: diagnostics.redacted).text(of: list.boxedMessage(of: frame), list.messageType)
        }
        let time = MonotonicClock.now
        let sender = event.senderType
        guarded.withLock { guarded in
            let most = guarded.diagnostics.kept
            guard most > 0 else { return }
            guarded.kept += 1
            guarded.messages.append((guarded.kept, time, text, sender, event.origin))
            if guarded.messages.count > most + Self.mostToSpare { guarded.messages = guarded.last(most) }
        }
    }
}

extension Recorder {
    struct Count {
        var posts: Int
        var unreceived: Int
        var lostOwners: Int
        var nanoseconds: Int64
        var isTracing: Bool
        var posters: [PosterSnapshot]
        /// Oldest first.
        var messages: [MessageSnapshot]
    }

    var count: Count {
        // Elements are copied under the lock. If the buffer were shared, the next post would copy all of it,
        // and the thread sanitizer, which does not see the reference count that orders the two, would report
        // a race.
        let (diagnostics, start, posters, messages, now) = guarded.withLock {
            ($0.diagnostics, $0.start, $0.posters.map { $0 }, $0.last($0.diagnostics.kept), MonotonicClock.now)
        }
        return Count(
            posts: posts.load(ordering: .relaxed),
            unreceived: unreceived.load(ordering: .relaxed),
            lostOwners: lostOwners.load(ordering: .relaxed),
            nanoseconds: now - start,
            isTracing: diagnostics.isTracing,
            posters: posters.map { type, site, posts in
                PosterSnapshot(
                    senderType: type.map { "\($0)" },
                    site: site == .unknown ? nil : site.site,
                    postCount: posts
                )
            },
            messages: messages.map {
                MessageSnapshot(
                    number: $0.number,
                    age: .nanoseconds(now - $0.time),
                    text: $0.text,
                    senderType: $0.sender,
                    origin: $0.origin
                )
            }
        )
    }
}
