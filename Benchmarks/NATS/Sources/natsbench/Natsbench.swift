import Foundation

/// Measures the C client, the transport and a bridge in turn, so that what disturbs the machine disturbs all alike, and prints Markdown.
///
/// Usage: natsbench URL [MESSAGES] [ROUNDS] [FIRST CASES]
@main
enum Natsbench {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count > 1 else {
            FileHandle.standardError.write(Data("usage: natsbench URL [MESSAGES] [ROUNDS]\n".utf8))
            exit(64)
        }
        let url = arguments[1]
        let count = arguments.count > 2 ? Int(arguments[2]) ?? 200_000 : 200_000
        let rounds = arguments.count > 3 ? Int(arguments[3]) ?? 7 : 7

        let all: [any Case] = [
            try ClientCase(url, headers: []),
            try await TransportCase(url, headers: []),
            try ClientCase(url, headers: sampleHeaders),
            try await TransportCase(url, headers: sampleHeaders),
            try await BridgeCase(url),
            try await DurableCase(url, concurrency: 1),
            try await DurableCase(url, concurrency: 64),
        ]
        let cases = Array(all.prefix(arguments.count > 4 ? Int(arguments[4]) ?? all.count : all.count))
        var throughput = [[Double]](repeating: [], count: cases.count)
        var latencies = [[Double]](repeating: [], count: cases.count)
        for round in 0...rounds {
            for (index, one) in cases.enumerated() {
                let number = count / one.share
                let start = ContinuousClock.now
                try await one.send(number)
                let perSecond = Double(number) / start.duration(to: .now).inSeconds
                let times = try await one.oneByOne(min(2_000, number))
                // The first round warms up.
                guard round > 0 else { continue }
                throughput[index].append(perSecond)
                latencies[index] += times
            }
        }
        print("| 100 bytes, one to one | messages a second | of the C client | p50 of one alone | p99 |")
        print("|---|---|---|---|---|")
        for (index, one) in cases.enumerated() {
            let perSecond = throughput[index].median
            // Ratios within a round, and their median: the machine is another from round to round.
            let ratio = zip(throughput[index], throughput[one.baseline]).map { $0 / $1 }.median
            let sorted = latencies[index].sorted()
            let p50 = sorted[sorted.count / 2] * 1e6
            let p99 = sorted[sorted.count * 99 / 100] * 1e6
            let share = index == one.baseline ? "1" : String(format: "%.2f", ratio)
            print("| \(one.name) | \(grouped(perSecond)) | \(share) | \(Int(p50)) µs | \(Int(p99)) µs |")
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

/// What a bridge puts there.
let sampleHeaders = [
    ("ce-specversion", "1.0"), ("ce-id", "0123456789abcdef0123"), ("ce-source", "till"), ("ce-type", "Sale"),
    ("ce-time", "2026-01-02T03:04:05.678Z"), ("content-type", "application/json"),
]

extension Duration {
    var inSeconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }
}

extension [Double] {
    var median: Double { isEmpty ? 0 : sorted()[count / 2] }
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
