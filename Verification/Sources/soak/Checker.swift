import Channels
import Foundation
import Synchronization

/// What is posted: who posts, and the how manieth of his messages it is.
struct Message: Sendable {
    var poster: Int
    var number: Int
}

/// Watches one listener: every message of a poster once, in order.
///
/// Unchecked: a slot is written by one thread at a time, without a lock of its own, because a listener called
/// directly is called by the poster and every other one call at a time. Where the library breaks this, the
/// thread sanitizer sees it.
final class Checker: @unchecked Sendable {
    /// What is known of one poster's messages, on cache lines of its own.
    private struct Slot {
        var calls = 0
        var first = -1
        var last = -1
        var missing = 0
        var repeated = 0
        var outOfOrder = 0
    }

    private static let stride = 128

    /// What the listener is, for the report.
    let name: String
    /// Whether its calls must never overlap.
    let isSerial: Bool
    private let posterCount: Int
    private let memory: UnsafeMutableRawPointer
    private let isInside = Atomic<Bool>(false)
    private let overlaps = Atomic<Int>(0)
    private let sabotage = Sabotage.next()
    private let lingers = Atomic<Bool>(false)
    /// Something to do inside the call with a certain message of the first poster. Set before anything is
    /// posted.
    private var hook: (number: Int, action: @Sendable () -> Void)?

    init(_ name: String, isSerial: Bool, posters: Int) {
        self.name = name
        self.isSerial = isSerial
        posterCount = posters
        memory = .allocate(byteCount: Self.stride * posters, alignment: Self.stride)
        for poster in 0..<posters { slot(poster).initialize(to: Slot()) }
    }

    deinit {
        memory.deallocate()
    }

    private func slot(_ poster: Int) -> UnsafeMutablePointer<Slot> {
        (memory + Self.stride * poster).assumingMemoryBound(to: Slot.self)
    }

    /// Called by the listener with each message.
    func note(_ message: Message) {
        begin()
        pass(message)
        end()
    }

    /// The same for an async listener, which suspends now and then, so that an overlapping call would show.
    func noteAndSuspend(_ message: Message) async {
        begin()
        pass(message)
        if message.number % 64 == 0 { await Task.yield() }
        end()
    }

    private func begin() {
        if isSerial, isInside.exchange(true, ordering: .acquiring) { overlaps.add(1, ordering: .relaxed) }
    }

    private func end() {
        if isSerial { isInside.store(false, ordering: .releasing) }
    }

    private func pass(_ message: Message) {
        guard let sabotage else { return see(message) }
        sabotage.pass(message, to: see)
    }

    /// Has an action carried out inside a call.
    func whenCalled(_ number: Int, _ action: @escaping @Sendable () -> Void) {
        hook = (number, action)
    }

    /// From now on calls last some time before they count, so that whoever does not wait for one that runs
    /// sees too few.
    func linger() {
        lingers.store(true, ordering: .relaxed)
    }

    private func see(_ message: Message) {
        if lingers.load(ordering: .relaxed) { for _ in 0..<50 { sched_yield() } }
        if let hook, message.poster == 0, message.number == hook.number { hook.action() }
        let slot = slot(message.poster)
        slot.pointee.calls += 1
        let last = slot.pointee.last
        if message.number == last + 1 || slot.pointee.first < 0 {
            if slot.pointee.first < 0 { slot.pointee.first = message.number }
            slot.pointee.last = message.number
        } else if message.number > last {
            slot.pointee.missing += message.number - last - 1
            slot.pointee.last = message.number
        } else if message.number == last {
            slot.pointee.repeated += 1
        } else {
            slot.pointee.outOfOrder += 1
        }
    }

    /// How often it was called.
    var calls: Int { total(\.calls) }

    /// How many messages between the first and the last that it was called with did not come.
    var missing: Int { total(\.missing) }

    /// The last of a poster's messages; -1 where none came.
    func last(of poster: Int) -> Int { slot(poster).pointee.last }

    private func total(_ count: KeyPath<Slot, Int>) -> Int {
        (0..<posterCount).reduce(0) { $0 + slot($1).pointee[keyPath: count] }
    }

    /// What holds for every listener; and that none is missing in between, unless it may miss some.
    func checkOrder(mayMiss: Bool) throws(Failure) {
        try require(0, total(\.repeated), "messages delivered twice")
        try require(0, total(\.outOfOrder), "messages out of order, or delivered again later")
        try require(0, overlaps.load(ordering: .relaxed), "calls begun while another was running")
        if !mayMiss { try require(0, missing, "messages lost between the first and the last") }
    }

    /// Every message of every poster came.
    func checkAllCame(each count: Int) throws(Failure) {
        for poster in 0..<posterCount {
            try require(count, slot(poster).pointee.calls, "calls with messages of poster \(poster)")
        }
    }

    /// Waits until nothing waits for the listener. Fails where nothing has become less for a long time: then
    /// nobody delivers it.
    func wait(for token: ListenerToken) async throws(Failure) {
        var before = token.waitingCount
        var since = ContinuousClock.now
        while before > 0 {
            await Task.yield()
            let now = token.waitingCount
            if now != before {
                before = now
                since = .now
            } else if ContinuousClock.now - since > .seconds(20) {
                try require(0, now, "messages that still wait, 20 s after the last was delivered")
            }
        }
    }

    func require(_ expected: Int, _ found: Int, _ what: String) throws(Failure) {
        if expected != found { throw Failure(listener: name, what: what, expected: expected, found: found) }
    }
}

/// What was found wrong.
struct Failure: Error, CustomStringConvertible {
    let listener: String
    let what: String
    let expected: Int
    let found: Int

    var description: String { "\(listener): \(what): expected \(expected), found \(found)" }
}
