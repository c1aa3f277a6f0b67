internal import Synchronization

/// What a switchboard counts and records of its channels, and whom it tells.
///
/// `guarded` is guarded by its mutex, under which no user code runs; `isOn` is written under it.
final class Observation: Sendable {
    private struct Guarded {
        /// What the program asks for, and what each tool does.
        var own: Diagnostics
        var tools: [ObjectIdentifier: Diagnostics] = [:]
        var unheard: [String: (type: any Any.Type, posts: Int)] = [:]
        /// By their lists.
        var watched: [ObjectIdentifier: Watched] = [:]
        var lastNumber = 0
        /// With so many, those that have gone are looked for.
        var mostWatched = 64

        /// All of it together.
        var diagnostics: Diagnostics { tools.values.reduce(own) { $0.combined(with: $1) } }
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

    init(_ diagnostics: Diagnostics) {
        guarded = Locked(Guarded(own: diagnostics))
        isOn = Atomic(diagnostics.isOn)
    }

    /// What the program asks for.
    var own: Diagnostics {
        get { guarded.withLock { $0.own } }
        set { change { $0.own = newValue } }
    }

    /// Stores what a tool asks for. The caller then applies it to every list, as it does after setting ``own``.
    func record(_ diagnostics: Diagnostics, for tool: ObjectIdentifier) {
        change { $0.tools[tool] = diagnostics.isOn ? diagnostics : nil }
    }

    private func change(_ body: (inout Guarded) -> Void) {
        guarded.withLock { guarded in
            let wasOn = guarded.diagnostics.isOn
            body(&guarded)
            if !wasOn { guarded.unheard = [:] }
            isOn.store(guarded.diagnostics.isOn, ordering: .sequentiallyConsistent)
        }
    }

    /// Counts of a list what is to be counted now.
    func apply(to list: ListenerList, named name: String? = nil) {
        guard isOn.load(ordering: .sequentiallyConsistent) || list.wasMetered || name != nil else { return }
        list.measure(instruments, named: name) { guarded.withLock { $0.diagnostics } }
    }

    // MARK: Names without a channel

    /// A message was posted to a name that has no channel.
    func noteUnheard(_ name: @autoclosure () -> String, _ type: any Any.Type) {
        guard isOn.load(ordering: .relaxed) else { return }
        let name = name()
        guarded.withLock { guarded in
            guard guarded.unheard.count < Self.mostUnheard || guarded.unheard[name] != nil else { return }
            guarded.unheard[name, default: (type, 0)].posts += 1
        }
    }

    /// Posts to each of these names.
    var unheard: [(name: String, type: any Any.Type, posts: Int)] {
        guarded.withLock { guarded in
            guard guarded.diagnostics.isOn else { return [] }
            return guarded.unheard.map { ($0.key, $0.value.type, $0.value.posts) }
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
