import Channels
import ChannelsBridge
import ChannelsSQLite
import Foundation
import GRDB
import Synchronization

/// Prints a line at once: it must be there when the process is killed.
func say(_ line: String) {
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
}

/// One process of the proofs over a file. It prints a line for each thing that happens. `FILED_AGE` and `FILED_MESSAGES` set
/// the retention of its transport: seconds, and how many.
///
///     filed send FILE WRITER FIRST END PAUSE   stores numbers; each is printed once it is stored; PAUSE milliseconds after each,
///                                              or as many at a time as there is room, and then only how long it took
///     filed hear FILE NAME PAUSE               prints what it hears, and settles it; each takes PAUSE milliseconds
///     filed count FILE NAME WRITERS END        hears the numbers of some writers up to an end, and prints what was wrong with them
///     filed unsettled FILE                     prints what is taken and not settled
///     filed order FILE FIRST END               stores an order and a message in one transaction for each number
///     filed compare FILE                       prints how many orders there are without a message, and messages without an order
///     filed inbox FILE                         books each of those messages and settles it, in one transaction
///     filed booked FILE                        prints how many messages are booked, more than once, and not at all
///     filed ping FILE COUNT PAUSE              stores numbers, PAUSE milliseconds apart, and prints when each was published and stored
///     filed pong FILE                          prints when it hears each of them
///     filed fill FILE COUNT                    stores numbers that nobody hears
///     filed names FILE NAMES COUNT             hears as many numbers under many durable names, and prints how many a second
///     filed wait FILE SECONDS                  stores one number after the other, and prints the longest wait for one
///     filed stored FILE                        prints how many messages there are
///     filed persist FILE COUNT                 stores numbers through a bridge, and prints when that is ready, and when it is not
///     filed idle FILE NAMES SECONDS            subscribes under durable names, and prints what part of a core that takes
@main
enum Filed {
    static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        func number(_ index: Int) -> Int { Int(arguments[index])! }
        guard arguments.count > 1 else { exit(64) }
        let file = arguments[1]
        switch (arguments[0], arguments.count) {
        case ("send", 6): try await send(file, arguments[2], number(3)..<number(4), pause: number(5))
        case ("hear", 4): try await hear(file, arguments[2], pause: number(3))
        case ("count", 5): try await count(file, arguments[2], arguments[3].split(separator: ","), end: number(4))
        case ("unsettled", 2): try await unsettled(file)
        case ("order", 4): try await order(file, number(2)..<number(3))
        case ("compare", 2): try await compare(file)
        case ("inbox", 2): try await inbox(file)
        case ("booked", 2): try await booked(file)
        case ("ping", 4): try await ping(file, number(2), pause: number(3))
        case ("pong", 2): try await pong(file)
        case ("fill", 3): try await fill(file, number(2))
        case ("names", 4): try await names(file, number(2), count: number(3))
        case ("wait", 3): try await wait(file, seconds: number(2))
        case ("stored", 2): try await stored(file)
        case ("persist", 3): try await persist(file, number(2))
        case ("idle", 4): try await idle(file, names: number(2), seconds: number(3))
        default: exit(64)
        }
    }

    private static let subject = "proof.numbered"

    private static func transport(_ file: String) async throws -> SQLiteTransport {
        var configuration = SQLiteConfiguration(path: file)
        let environment = ProcessInfo.processInfo.environment
        if let age = environment["FILED_AGE"].flatMap(Int.init) { configuration.retention.age = .seconds(age) }
        if let count = environment["FILED_MESSAGES"].flatMap(Int.init) { configuration.retention.messages = count }
        let transport = SQLiteTransport(configuration)
        try await transport.connect { event in
            if case .failed(let error) = event { say("fault \(error)") }
        }
        return transport
    }

    private static func message(_ writer: String, _ number: Int) throws -> TransportMessage {
        try TransportMessage(
            subject: subject,
            headers: ["ce-id": "\(writer)-\(number)"],
            body: Array("\(writer) \(number)".utf8)
        )
    }

    private static func send(_ file: String, _ writer: String, _ numbers: Range<Int>, pause: Int) async throws {
        let transport = try await transport(file)
        let start = ContinuousClock.now
        if pause > 0 {
            for number in numbers {
                try await transport.publish(message(writer, number), durable: true)
                say("sent \(number)")
                try await Task.sleep(for: .milliseconds(pause))
            }
        } else {
            try await sendAtOnce(numbers, over: transport, writer)
        }
        let seconds = start.duration(to: .now) / .seconds(1)
        try await transport.close(timeout: .seconds(5))
        say("stored \(numbers.count) in \(seconds) s, \(Int(Double(numbers.count) / seconds)) a second")
    }

    /// As a bridge does: a thousand on their way.
    private static func sendAtOnce(_ numbers: Range<Int>, over transport: SQLiteTransport, _ writer: String)
        async throws
    {
        let (ends, end) = AsyncStream.makeStream(of: BridgeError?.self)
        var iterator = ends.makeAsyncIterator()
        var open = 0
        for number in numbers {
            if open >= 1_000 {
                if let error = await iterator.next() ?? nil { throw error }
                open -= 1
            }
            try await transport.publishDurably(message(writer, number), isRepeated: false) { end.yield($0) }
            open += 1
        }
        for _ in 0..<open { if let error = await iterator.next() ?? nil { throw error } }
    }

    private static func hear(_ file: String, _ name: String, pause: Int) async throws {
        let transport = try await transport(file)
        let subscription = TransportSubscription(to: "proof.>", durableName: name, start: .beginning)
        try await transport.subscribe(subscription) { message in
            if pause > 0 { Thread.sleep(forTimeInterval: Double(pause) / 1_000) }
            say("heard \(String(decoding: message.message.body, as: UTF8.self))")
            message.settle?(.acknowledged)
        }
        say("ready")
        try await Task.sleep(for: .seconds(86_400))
    }

    private struct Counts {
        var next: [Substring: Int]
        var disordered = 0
        var count = 0
    }

    private static func count(_ file: String, _ name: String, _ writers: [Substring], end: Int) async throws {
        let transport = try await transport(file)
        let counts = Mutex(Counts(next: Dictionary(uniqueKeysWithValues: writers.map { ($0, 0) })))
        let (done, finish) = AsyncStream.makeStream(of: Void.self)
        let start = Mutex<ContinuousClock.Instant?>(nil)
        let subscription = TransportSubscription(to: "proof.>", durableName: name, start: .beginning)
        try await transport.subscribe(subscription) { message in
            start.withLock { $0 = $0 ?? .now }
            let words = String(decoding: message.message.body, as: UTF8.self).split(separator: " ")
            let isDone = counts.withLock { counts in
                counts.count += 1
                let number = Int(words[1])!
                if counts.next[words[0]] != number { counts.disordered += 1 }
                counts.next[words[0]] = number + 1
                return counts.next.values.allSatisfy { $0 == end }
            }
            message.settle?(.acknowledged)
            if isDone { finish.finish() }
        }
        say("ready")
        for await _ in done {}
        let seconds = start.withLock { $0 }!.duration(to: .now) / .seconds(1)
        try await transport.close(timeout: .seconds(30))
        let (heard, disordered) = counts.withLock { ($0.count, $0.disordered) }
        say(
            "heard \(heard) in \(seconds) s, \(Int(Double(heard) / seconds)) a second; "
                + "\(heard - writers.count * end) too many, \(disordered) out of order"
        )
    }

    private static func unsettled(_ file: String) async throws {
        let bodies = try await DatabaseQueue(path: file).read { db in
            try String.fetchAll(
                db,
                sql: "SELECT CAST(body AS TEXT) FROM channels_unsettled JOIN channels_messages USING (number)"
            )
        }
        for body in bodies { say(body) }
    }

    // MARK: Figures

    private static var nanoseconds: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    /// Says for each message when it was published, and when it was stored.
    private static func ping(_ file: String, _ count: Int, pause: Int) async throws {
        let transport = try await transport(file)
        for number in 0..<count {
            try await Task.sleep(for: .milliseconds(pause))
            let start = nanoseconds
            let message = try TransportMessage(
                subject: "proof.ping",
                headers: ["ce-id": "\(UUID())"],
                body: Array("\(number)".utf8)
            )
            try await transport.publish(message, durable: true)
            say("ping \(number) \(start) \(nanoseconds)")
        }
        try await transport.close(timeout: .seconds(5))
    }

    /// Says for each of them when it was heard.
    private static func pong(_ file: String) async throws {
        let transport = try await transport(file)
        try await transport.subscribe(
            TransportSubscription(to: "proof.ping", durableName: "pong", start: .new)
        ) { message in
            let time = nanoseconds
            message.settle?(.acknowledged)
            say("pong \(String(decoding: message.message.body, as: UTF8.self)) \(time)")
        }
        say("ready")
        try await Task.sleep(for: .seconds(86_400))
    }

    private static func fill(_ file: String, _ count: Int) async throws {
        let transport = try await transport(file)
        try await sendAtOnce(0..<count, over: transport, "filler")
        try await transport.close(timeout: .seconds(60))
    }

    private static func names(_ file: String, _ names: Int, count: Int) async throws {
        let transport = try await transport(file)
        let left = Mutex(names * count)
        let (done, finish) = AsyncStream.makeStream(of: Void.self)
        for name in 0..<names {
            try await transport.subscribe(TransportSubscription(to: "proof.>", durableName: "name-\(name)")) {
                message in
                message.settle?(.acknowledged)
                let isLast = left.withLock { left in
                    left -= 1
                    return left == 0
                }
                if isLast { finish.finish() }
            }
        }
        let start = ContinuousClock.now
        try await sendAtOnce(0..<count, over: transport, "names")
        for await _ in done {}
        let seconds = start.duration(to: .now) / .seconds(1)
        say("\(names) durable names: \(Int(Double(names * count) / seconds)) deliveries a second")
        try await transport.close(timeout: .seconds(60))
    }

    private static func wait(_ file: String, seconds: Int) async throws {
        let transport = try await transport(file)
        let end = ContinuousClock.now + .seconds(seconds)
        var (longest, count) = (Duration.zero, 0)
        while .now < end {
            let start = ContinuousClock.now
            try await transport.publish(message("wait", count), durable: true)
            longest = max(longest, start.duration(to: .now))
            count += 1
        }
        say("\(count) stored one after the other; the longest wait \(Int(longest / .milliseconds(1))) ms")
        try await transport.close(timeout: .seconds(60))
    }

    private static func stored(_ file: String) async throws {
        let count = try await DatabaseQueue(path: file).read {
            try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM channels_messages")
        }
        say("\(count ?? 0)")
    }

    private static func persist(_ file: String, _ count: Int) async throws {
        let board = Switchboard(onFault: { say("fault \($0)") })
        let bridge = Bridge(
            "persist",
            switchboard: board,
            transport: SQLiteTransport(path: file),
            routes: [.outgoing(ordered, durable: true)]
        )
        let status = bridge.status.listen { say($0.isReady ? "ready" : "not ready: \($0)") }
        let running = Task { try await bridge.run() }
        try await bridge.waitUntilReady()
        for number in 0..<count {
            let report = await board[ordered].postAndWait(number)
            if !report.failures.isEmpty { say("failed \(report)") }
        }
        say("stored \(count) through the bridge")
        status.cancel()
        running.cancel()
        _ = await running.result
    }

    private static func idle(_ file: String, names: Int, seconds: Int) async throws {
        let transport = try await transport(file)
        for name in 0..<names {
            try await transport.subscribe(
                TransportSubscription(to: "proof.>", durableName: "idle-\(name)", start: .new)
            ) { message in message.settle?(.acknowledged) }
        }
        try await Task.sleep(for: .seconds(2))
        let before = processorTime()
        try await Task.sleep(for: .seconds(seconds))
        let part = (processorTime() - before) / Double(seconds) * 100
        say("\(names) durable names, idle: \(String(format: "%.2f", part)) % of a core")
        try await transport.close(timeout: .seconds(5))
    }

    private static func processorTime() -> Double {
        Double(clock()) / Double(CLOCKS_PER_SEC)
    }
}
