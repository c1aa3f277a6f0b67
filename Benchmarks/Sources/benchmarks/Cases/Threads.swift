import CCounting
import Channels
import Dispatch

/// Several threads at once. Their listeners share nothing, so that only the channel's own words are
/// contended.
enum Threads {
    static var cases: [Case] {
        [
            Case(name: "threads/scaling", metrics: scalingMetrics, operations: 50_000) { scaling() },
            Case(name: "threads/by-name", metrics: nameMetrics, operations: 50_000) { byName() },
            Case(name: "threads/sixteen", metrics: latencyMetrics, operations: 32_000) { sixteenPosting() },
            Case(name: "threads/sixteen-on-mailbox", metrics: latencyMetrics, operations: 16_000) {
                sixteenOnMailbox()
            },
            Case(
                name: "threads/churn",
                metrics: ["post-alone", "post-with-churn", "registration-beside"],
                operations: 100_000
            ) { churn() },
        ]
    }

    private static let scalingMetrics = [
        "one", "two-on-one-channel", "two-on-two-channels", "x-one-channel", "x-two-channels",
    ]
    private static let nameMetrics = ["one", "two-on-one-name", "x-one-name"]
    private static let latencyMetrics = ["p50", "p99.9", "max"]

    /// What two threads get done in the time one needs for its part, on one channel and on two, with four
    /// listeners.
    private static func scaling() -> Body {
        let channels = [channel(4), channel(4)]
        return .timed { operations in
            // Where something else had one of the cores, the threads were not compared with each other: made
            // again, and given up at last.
            for _ in 0..<50 {
                let runs = [
                    Team.run(1) { _ in post(channels[0].channel, operations) },
                    Team.run(2) { _ in post(channels[0].channel, operations) },
                    Team.run(2) { post(channels[$0].channel, operations) },
                ]
                guard runs.allSatisfy(\.isUndisturbed) else { continue }
                let times = runs.map { $0.time / Double(operations) }
                return times + [2 * times[0] / times[1], 2 * times[0] / times[2]]
            }
            return scalingMetrics.map { _ in .nan }
        }
    }

    /// The same by one name, among others.
    private static func byName() -> Body {
        let crowd = Crowd(1_000)
        let name: ChannelName<Int> = "bench.by-name"
        let tokens = (0..<4).map { _ in crowd.board[name].listen { counting_consume(Int64($0)) } }
        return .timed { operations in
            for _ in 0..<50 {
                let runs = [
                    Team.run(1) { _ in post(crowd.board, name, operations) },
                    Team.run(2) { _ in post(crowd.board, name, operations) },
                ]
                guard runs.allSatisfy(\.isUndisturbed) else { continue }
                let times = runs.map { $0.time / Double(operations) }
                withExtendedLifetime(tokens) {}
                return times + [2 * times[0] / times[1]]
            }
            return nameMetrics.map { _ in .nan }
        }
    }

    /// How long each post took of sixteen threads on one channel with sixteen listeners. The two readings of
    /// the clock are in it.
    private static func sixteenPosting() -> Body {
        let held = channel(16)
        return .timed { operations in
            let channel = held.channel
            return latencies(operations / 16) { channel.post($0) }
        }
    }

    /// The same with one listener on a queue.
    private static func sixteenOnMailbox() -> Body {
        let channel = Channel<Int>()
        let queue = DispatchQueue(label: "benchmarks.mailbox")
        let token = channel.listen(on: queue) { counting_consume(Int64($0)) }
        return .timed { operations in
            let result = latencies(operations / 16) { channel.post($0) }
            // What waits is delivered before the next case.
            queue.sync {}
            withExtendedLifetime(token) {}
            return result
        }
    }

    /// A thread posts, alone and while another registers and cancels on the same channel.
    private static func churn() -> Body {
        let held = channel(16)
        return .timed { operations in
            let channel = held.channel
            let alone = Team.run(1) { _ in post(channel, operations) }.time
            let posting = Shared(0.0)
            let isDone = Shared(false)
            let registered = Shared(0)
            let both = Team.run(2) { number in
                if number == 0 {
                    let start = nanoseconds()
                    post(channel, operations)
                    posting.withLock { $0 = Double(nanoseconds() - start) }
                    isDone.withLock { $0 = true }
                } else {
                    var count = 0
                    while !isDone.withLock({ $0 }) {
                        for _ in 0..<16 { channel.listen { counting_consume(Int64($0)) }.cancel() }
                        count += 16
                    }
                    registered.withLock { [count] in $0 = count }
                }
            }.time
            return [
                alone / Double(operations), posting.withLock { $0 } / Double(operations),
                both / Double(max(1, registered.withLock { $0 })),
            ]
        }
    }

    /// A channel with listeners that touch no memory.
    static func channel(_ count: Int) -> (channel: Channel<Int>, tokens: [ListenerToken]) {
        let channel = Channel<Int>()
        return (channel, (0..<count).map { _ in channel.listen { counting_consume(Int64($0)) } })
    }

    @inline(never)
    static func post(_ channel: Channel<Int>, _ count: Int) {
        for number in 0..<count { channel.post(number) }
    }

    @inline(never)
    static func post(_ board: Switchboard, _ name: ChannelName<Int>, _ count: Int) {
        for number in 0..<count { board[name].post(number) }
    }

    /// The median, the 99.9th percentile and the longest of the posts of sixteen threads.
    private static func latencies(_ count: Int, _ post: @escaping @Sendable (Int) -> Void) -> [Double] {
        let all = Shared<[Double]>([])
        _ = Team.run(16) { _ in
            var own = [Double](repeating: 0, count: count)
            for number in 0..<count {
                let start = nanoseconds()
                post(number)
                own[number] = Double(nanoseconds() - start)
            }
            all.withLock { [own] in $0 += own }
        }
        let sorted = all.withLock { $0.sorted() }
        return [quantile(sorted, 0.5), quantile(sorted, 0.999), sorted.last ?? .nan]
    }
}
