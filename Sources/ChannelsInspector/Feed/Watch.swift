#if Inspector
internal import Channels
internal import ChannelsDiagnostics
internal import Foundation

/// Whether posts are traced while a page is open, which a visitor can choose.
enum Tracing: String, Sendable, Codable {
    case on, off
}

/// Reads a switchboard. Only this type knows the library's diagnostics.
///
/// `token` is guarded by its lock, under which the switchboard is not called.
final class Watch: Sendable {
    /// How many messages are kept per channel.
    private static let kept = 32

    private let board: Switchboard
    private let redacted: [any Any.Type]
    private let faults = FaultLog()
    private let token = Locked<InstrumentToken?>(nil)

    init(_ board: Switchboard, redacting redacted: [any Any.Type] = []) {
        self.board = board
        self.redacted = redacted
    }

    /// Counts from now on, and traces if asked to, in addition to the program's own diagnostics.
    func begin(_ tracing: Tracing) {
        let added = board.addInstrument(faults)
        token.withLock { $0 = added }
        record(tracing)
    }

    /// Changes whether posts are traced.
    func record(_ tracing: Tracing) {
        board.record(tracing == .on ? .trace(keeping: Self.kept, redacting: redacted) : .counts, for: self)
    }

    /// Stops, leaving the diagnostics of the program and of other inspectors.
    func end() {
        board.record(.off, for: self)
        token.withLock { $0.take() }?.cancel()
        _ = faults.takeAll()
    }

    /// Reads the switchboard once.
    ///
    /// - Complexity: O(*n*) in the number of listeners.
    func read() -> Reading {
        let snapshot = board.snapshot()
        let named = (snapshot.channels + snapshot.protocols + snapshot.patterns).map {
            Reading.Channel($0, isNamed: true, snapshot.lanes)
        }
        let found = named + snapshot.watched.map { Reading.Channel($0, isNamed: false, snapshot.lanes) }
        // Channels with the same name are shown together, in the place of the first. Each listener to a
        // pattern has its own snapshot, and several channels may be watched under one name.
        var together = Dictionary(found.map { ($0.id, $0) }, uniquingKeysWith: { $0.adding($1) })
        let channels = found.compactMap { together.removeValue(forKey: $0.id) }
        return Reading(time: millisecondsNow(), channels: channels, faults: faults.takeAll())
    }
}

/// Keeps the faults from one reading to the next.
///
/// It is called on the threads that find the faults. `faults` is guarded by its lock, under which nothing
/// else is called.
private final class FaultLog: ChannelInstrument {
    private static let most = 256

    private let faults = Locked<[Entry]>([])

    func takeAll() -> [Entry] {
        faults.withLock { faults in
            defer { faults = [] }
            return faults
        }
    }

    func report(_ fault: Fault) {
        var text = "\(fault.code)"
        if let detail = fault.detail { text += ", \(detail)" }
        if let site = fault.registrationSite { text += ", listener at \(site)" }
        if let error = fault.underlyingError { text += ": \(String(describing: error).prefix(1_000))" }
        let entry = Entry(kind: .fault, time: millisecondsNow(), channel: fault.channelName, text: text)
        faults.withLock { faults in
            faults.append(entry)
            if faults.count > Self.most { faults.removeFirst() }
        }
    }
}

private func millisecondsNow() -> Double { Date().timeIntervalSince1970 * 1_000 }

extension Reading.Channel {
    fileprivate init(_ snapshot: ChannelSnapshot, isNamed: Bool, _ lanes: [LaneSnapshot]) {
        self.init(
            name: snapshot.name,
            kind: snapshot.kind.description,
            type: snapshot.messageType,
            isNamed: isNamed,
            posts: snapshot.postCount,
            unreceived: snapshot.unreceivedCount ?? 0,
            lostOwners: snapshot.deallocatedOwnerCount ?? 0,
            senders: snapshot.posters.map {
                Reading.Sender(type: $0.senderType, site: $0.site?.description, posts: $0.postCount)
            },
            messages: snapshot.messages,
            listeners: snapshot.listeners.map { Reading.Listener($0, lane: $0.laneIndex.map { lanes[$0].name }) }
        )
    }

    /// Combines two channels with the same name.
    fileprivate func adding(_ other: Self) -> Self {
        var sum = self
        sum.posts = posts.map { $0 + (other.posts ?? 0) } ?? other.posts
        sum.unreceived += other.unreceived
        sum.lostOwners += other.lostOwners
        sum.senders += other.senders
        sum.listeners += other.listeners
        // Only the messages of one channel are shown, because their numbers have no meaning across channels.
        if messages.isEmpty { sum.messages = other.messages }
        return sum
    }
}

extension Reading.Listener {
    fileprivate init(_ snapshot: ListenerSnapshot, lane: String?) {
        self.init(
            owner: snapshot.ownerType,
            delivery: snapshot.deliveryKind.description,
            priority: snapshot.priority.rawValue,
            isPaused: snapshot.isPaused,
            site: snapshot.registrationSite.description,
            lane: lane,
            delivered: snapshot.deliveredCount,
            waiting: snapshot.waitingCount,
            mostWaiting: snapshot.maximumWaitingCount,
            dropped: snapshot.droppedCount,
            missed: snapshot.missedCount,
            failures: snapshot.failureCount,
            times: snapshot.callTimes?.counts ?? [],
            longest: snapshot.callTimes?.longest.limitInNanoseconds,
            longestWait: snapshot.waitTimes?.longest.limitInNanoseconds
        )
    }
}
#endif
