internal import Channels
internal import Synchronization

/// What a switchboard counts and records about its channels.
///
/// `guarded` is guarded by its lock, under which no user code runs. `isOn` is written under that lock, and
/// read without it.
final class Observation: SwitchboardInstrument {
    private struct Guarded {
        /// What the program asks for, and what each tool asks for.
        var own = Switchboard.Diagnostics.off
        var tools: [(tool: ObjectIdentifier, diagnostics: Switchboard.Diagnostics)] = []
        var unreceived: [ExactText: (type: any Any.Type, posts: Int)] = [:]
        /// By their lists.
        var watched: [ObjectIdentifier: Watched] = [:]
        var watchedFirst = 0
        /// At this number of watched channels, deallocated ones are removed.
        var mostWatched = 64

        var diagnostics: Switchboard.Diagnostics { tools.reduce(own) { $0.combined(with: $1.diagnostics) } }

        var living: [Watched] {
            watched.values.filter { !$0.list.hasClosed }.sorted { $0.number < $1.number }
        }
    }

    /// A channel that is shown in addition to the named ones, and held weakly. Its list is kept until it is
    /// found to be closed.
    struct Watched {
        let name: String
        let kind: ChannelKind
        let messageType: String
        let list: ListenerList
        weak var channel: AnyObject?
        /// In the order in which channels were first watched.
        var number = 0
    }

    /// For how many names without a channel posts are counted.
    private static let mostUnreceived = 1_024

    /// The instruments of the switchboard.
    private let instruments: Instruments
    private let guarded = Locked(Guarded())
    private let isOn = Atomic<Bool>(false)

    init(_ instruments: Instruments) { self.instruments = instruments }

    var own: Switchboard.Diagnostics { guarded.withLock { $0.own } }

    /// Records what a tool or the program asks for. The caller then applies it to every list.
    func record(_ diagnostics: Switchboard.Diagnostics, for tool: ObjectIdentifier?) {
        guarded.withLock { guarded in
            let wasOn = guarded.diagnostics.isOn
            if let tool {
                guarded.tools = guarded.tools.filter { $0.tool != tool } + [(tool, diagnostics)]
            } else {
                guarded.own = diagnostics
            }
            if !wasOn { guarded.unreceived = [:] }
            isOn.store(guarded.diagnostics.isOn, ordering: .sequentiallyConsistent)
        }
    }

    /// Makes a list count what is now asked for.
    func apply(to list: ListenerList) { apply(to: list, named: nil) }

    func apply(to list: ListenerList, named name: String?) {
        guard isOn.load(ordering: .sequentiallyConsistent) || list.instrument != nil || name != nil else { return }
        list.measure(instruments, named: name) { guarded.withLock { $0.diagnostics } }
    }

    /// Counts a post to a name without a channel.
    func noteUnreceived(_ name: @autoclosure () -> String, _ type: any Any.Type) {
        guard isOn.load(ordering: .relaxed) else { return }
        let name = ExactText(name())
        guarded.withLock { guarded in
            guard guarded.unreceived.count < Self.mostUnreceived || guarded.unreceived[name] != nil else { return }
            guarded.unreceived[name, default: (type, 0)].posts += 1
        }
    }

    /// The posts to each name without a channel.
    var unreceived: [(name: String, type: any Any.Type, posts: Int)] {
        let unreceived = guarded.withLock { $0.diagnostics.isOn ? $0.unreceived : [:] }
        return unreceived.map { ($0.text, $1.type, $1.posts) }
    }

    func watch(_ channel: Watched) {
        let former = guarded.withLock { guarded in
            var former: [Watched] = []
            if guarded.watched.count >= guarded.mostWatched {
                former = guarded.watched.values.filter { $0.list.hasClosed }
                for closed in former { guarded.watched[ObjectIdentifier(closed.list)] = nil }
                guarded.mostWatched = 2 * guarded.watched.count + 64
            }
            var channel = channel
            let known = guarded.watched[ObjectIdentifier(channel.list)]
            if known == nil { guarded.watchedFirst += 1 }
            channel.number = known?.number ?? guarded.watchedFirst
            guarded.watched[ObjectIdentifier(channel.list)] = channel
            // Released without the lock.
            return (former, known)
        }
        withExtendedLifetime(former) {}
    }

    /// Visits the watched channels, in the order in which they were first watched.
    func forEachWatched(_ body: (Watched) -> Void) {
        for watched in guarded.withLock({ $0.living }) {
            // Retained outside the lock, because releasing it may run user code.
            guard let channel = watched.channel else { continue }
            body(watched)
            withExtendedLifetime(channel) {}
        }
    }

    var watched: [ShownChannel] {
        var shown: [ShownChannel] = []
        forEachWatched { shown.append(ShownChannel($0.name, $0.kind, $0.messageType, $0.list)) }
        return shown
    }
}
