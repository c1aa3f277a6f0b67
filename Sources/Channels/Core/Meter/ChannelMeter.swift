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
    let isTracing = Atomic<Bool>(false)
    let posts = Atomic<Int>(0)
    /// Posts that reached nobody.
    let unheard = Atomic<Int>(0)
    /// Listeners that ended because their owner was deallocated.
    let lostOwners = Atomic<Int>(0)

    init(_ own: Diagnostics) { self.own = own }

    /// A time of the system's monotonic clock, in nanoseconds.
    static var now: Int { Int(truncatingIfNeeded: DispatchTime.now().uptimeNanoseconds) }

    /// Changes what is recorded. What was counted before is forgotten if nothing was until now.
    ///
    /// - Parameter announce: Called under the lock with whether anything is counted from here on.
    func set(
        _ instruments: Instruments?,
        named name: String?,
        _ setting: () -> Diagnostics,
        _ announce: (Bool) -> Void
    ) {
        let former = guarded.withLock { guarded in
            // Released without the lock.
            let former = guarded
            let setting = setting()
            let diagnostics = setting.level < own.level ? own : setting
            let wasOn = guarded.diagnostics.isOn
            if !wasOn {
                guarded.start = Self.now
                posts.store(0, ordering: .relaxed)
                unheard.store(0, ordering: .relaxed)
                lostOwners.store(0, ordering: .relaxed)
            }
            if !wasOn || !diagnostics.isTracing { guarded.posters = [:] }
            if !wasOn { guarded.kept = 0 }
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

    /// The diagnostics, if any are on, and for how long they have been.
    var setting: (diagnostics: Diagnostics, nanoseconds: Int) {
        guarded.withLock { ($0.diagnostics, Self.now - $0.start) }
    }

    var instruments: Instruments? { guarded.withLock { $0.instruments } }

    var name: String? { guarded.withLock { $0.name } }

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
        let diagnostics = setting.diagnostics
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

    var posters: [PosterSnapshot] {
        guarded.withLock { $0.posters }
            .map { poster, counted in
                PosterSnapshot(
                    senderType: counted.type.map { "\($0)" },
                    site: poster.site == .unknown ? nil : poster.site.site,
                    posts: counted.posts
                )
            }
            .sorted { $0.posts > $1.posts }
    }

    /// The messages kept, the oldest first.
    var messages: [MessageSnapshot] {
        let (messages, now) = guarded.withLock { ($0.inOrder, Self.now) }
        return messages.map { message in
            var remote: String?
            if case .remote(let process) = message.origin { remote = process }
            return MessageSnapshot(
                number: message.number,
                ageNanoseconds: now - message.time,
                text: message.text,
                senderType: message.sender,
                remoteOrigin: remote
            )
        }
    }
}
