internal import Synchronization

/// What a switchboard counts and records of its channels, and whom it tells.
///
/// `guarded` is guarded by its mutex, under which no user code runs; `isOn` is written under it.
final class Observation: Sendable {
    private struct Guarded {
        var diagnostics: Diagnostics
        var unheard: [String: (type: any Any.Type, posts: Int)] = [:]
        var watched: [Watched] = []
    }

    /// A channel that is shown beside the named ones. Only the reference to it is weak: its list takes some memory
    /// until it is found to be gone.
    struct Watched {
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
        guarded = Locked(Guarded(diagnostics: diagnostics))
        isOn = Atomic(diagnostics.isOn)
    }

    var diagnostics: Diagnostics { guarded.withLock { $0.diagnostics } }

    /// Stores what is to be counted from here on. The caller then applies it to every list.
    func set(_ diagnostics: Diagnostics) {
        guarded.withLock { guarded in
            if !guarded.diagnostics.isOn { guarded.unheard = [:] }
            guarded.diagnostics = diagnostics
            isOn.store(diagnostics.isOn, ordering: .sequentiallyConsistent)
        }
    }

    /// Counts of a list what is to be counted now.
    func apply(to list: ListenerList, named name: String? = nil) {
        guard isOn.load(ordering: .sequentiallyConsistent) || list.wasMetered else { return }
        list.measure(instruments, named: name) { diagnostics }
    }

    /// A message was posted to a name that has no channel.
    func noteUnheard(_ name: String, _ type: any Any.Type) {
        guard isOn.load(ordering: .relaxed) else { return }
        guarded.withLock { guarded in
            guard guarded.unheard.count < Self.mostUnheard || guarded.unheard[name] != nil else { return }
            guarded.unheard[name, default: (type, 0)].posts += 1
        }
    }

    var unheard: [(name: String, type: any Any.Type, posts: Int)] {
        guarded.withLock { guarded in
            guarded.diagnostics.isOn ? guarded.unheard.map { ($0.key, $0.value.type, $0.value.posts) } : []
        }
    }

    // MARK: Channels without a name

    func watch(_ channel: Watched) {
        let gone = guarded.withLock { guarded in
            // Lists are released without the lock.
            let gone = guarded.watched.filter { $0.channel == nil || $0.list === channel.list }
            guarded.watched.removeAll { $0.channel == nil || $0.list === channel.list }
            guarded.watched.append(channel)
            return gone
        }
        withExtendedLifetime(gone) {}
    }

    /// The channels that are watched, in the order in which they were first.
    var watched: [(channel: AnyObject, watched: Watched)] {
        // Channels are released without the lock.
        guarded.withLock { guarded in guarded.watched.compactMap { each in each.channel.map { ($0, each) } } }
    }
}
