import Foundation

/// Measures the C client, the transport and a bridge in turn, so that what disturbs the machine disturbs all
/// alike, and prints Markdown.
///
/// Usage: natsbench URL FOLDER [MESSAGES] [ROUNDS] [CASES, by number: 0,1]
@main
enum Natsbench {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count > 2 else {
            FileHandle.standardError.write(Data("usage: natsbench URL FOLDER [MESSAGES] [ROUNDS] [CASES]\n".utf8))
            exit(64)
        }
        let (url, folder) = (arguments[1], arguments[2])
        let count = arguments.count > 3 ? Int(arguments[3]) ?? 200_000 : 200_000
        let rounds = arguments.count > 4 ? Int(arguments[4]) ?? 7 : 7

        let all: [any Case] = [
            try ClientCase(url, headers: []),
            try await TransportCase(url, headers: []),
            try ClientCase(url, headers: sampleHeaders),
            try await TransportCase(url, headers: sampleHeaders),
            try await BridgeCase(url),
            try await DurableCase(url, concurrency: 1),
            try await DurableCase(url, concurrency: 64),
            try ClientStreamCase(url, index: 7, headers: []),
            try ClientStreamCase(url, index: 7, headers: sampleHeaders),
            try await DurableBridgeCase(url, baseline: 7, hears: false),
            try await DurableBridgeCase(url, baseline: 7, hears: true),
            try await RelayCase(url, baseline: 7, path: folder + "/relay.sqlite"),
        ]
        let chosen =
            arguments.count > 5 ? arguments[5].split(separator: ",").compactMap { Int($0) } : Array(all.indices)
        let cases = chosen.map { (index: $0, case: all[$0]) }
        var throughput = [[Double]](repeating: [], count: all.count)
        var processor = throughput
        var latencies = throughput
        for round in 0...rounds {
            for (index, one) in cases {
                let number = count / one.share
                let start = ContinuousClock.now
                let busy = processorSeconds()
                // In blocks, for which a subscription has room.
                for sent in stride(from: 0, to: number, by: 50_000) { try await one.send(min(number - sent, 50_000)) }
                let perSecond = Double(number) / start.duration(to: .now).inSeconds
                let busyNow = processorSeconds()
                let times = try await one.oneByOne(min(2_000, number))
                // The first round warms up.
                guard round > 0 else { continue }
                throughput[index].append(perSecond)
                processor[index].append((busyNow - busy) / Double(number) * 1e9)
                latencies[index] += times
            }
        }
        print(
            "| 100 bytes, one to one | messages a second | of the C client | processor time of a message, both ends | p50 of one alone | p99 |"
        )
        print("|---|---|---|---|---|---|")
        for (index, one) in cases {
            let perSecond = throughput[index].median
            // Ratios within a round, and their median: the machine is another from round to round.
            let ratio = zip(throughput[index], throughput[one.baseline]).map(/).median
            let sorted = latencies[index].sorted()
            let p50 = sorted[sorted.count / 2] * 1e6
            let p99 = sorted[sorted.count * 99 / 100] * 1e6
            let share = index == one.baseline ? "1" : ratio.isNaN ? "" : String(format: "%.2f", ratio)
            print(
                "| \(one.name) | \(grouped(perSecond)) | \(share) | \(grouped(processor[index].median)) ns | \(Int(p50)) µs | \(Int(p99)) µs |"
            )
        }
        exit(0)
    }
}

/// Something that sends messages from one connection to another.
protocol Case: Sendable {
    var name: String { get }
    /// The index of the case that this one is compared with.
    var baseline: Int { get }
    /// Sends one such part of the messages.
    var share: Int { get }
    /// Sends messages and returns when all have arrived.
    func send(_ count: Int) async throws
    /// Sends one after the other has arrived; the seconds each took.
    func oneByOne(_ count: Int) async throws -> [Double]
}

extension Case {
    func oneByOne(_ count: Int) async throws -> [Double] {
        var times: [Double] = []
        for _ in 0..<count {
            let start = ContinuousClock.now
            try await send(1)
            times.append(start.duration(to: .now).inSeconds)
        }
        return times
    }
}

/// What a bridge puts there.
let sampleHeaders = [
    ("ce-specversion", "1.0"), ("ce-id", "0123456789abcdef0123"), ("ce-source", "till"), ("ce-type", "Sale"),
    ("ce-time", "2026-01-02T03:04:05.678Z"), ("content-type", "application/json"),
]

/// How long the process has kept cores busy, its own code and the kernel's for it.
func processorSeconds() -> Double {
    var usage = rusage()
    getrusage(.init(RUSAGE_SELF.rawValue), &usage)
    return [usage.ru_utime, usage.ru_stime].reduce(0) { $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6 }
}

extension Duration {
    var inSeconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }
}

extension [Double] {
    var median: Double { isEmpty ? .nan : sorted()[count / 2] }
}

func grouped(_ value: Double) -> String {
    var digits = String(Int(value))
    var index = digits.count - 3
    while index > 0 {
        digits.insert(",", at: digits.index(digits.startIndex, offsetBy: index))
        index -= 3
    }
    return digits
}
