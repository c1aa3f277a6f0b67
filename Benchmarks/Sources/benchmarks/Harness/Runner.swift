import CCounting

/// One figure: its name, its unit, and how it spreads over the rounds.
struct Figure {
    let name: String
    let unit: String
    let values: [Double]

    init(_ name: String, _ unit: String, _ values: [Double]) {
        self.name = name
        self.unit = unit
        self.values = values.sorted()
    }

    var json: String {
        let spread = [("median", 0.5), ("min", 0), ("p25", 0.25), ("p75", 0.75), ("max", 1)]
            .map { "\"\($0)\": \(quantile(values, $1))" }
            .joined(separator: ", ")
        return "{\"name\": \"\(name)\", \"unit\": \"\(unit)\", \"rounds\": \(values.count), \(spread)}"
    }

    var line: String {
        func rounded(_ value: Double) -> String { "\((value * 100).rounded() / 100)" }
        return "\(name): \(rounded(quantile(values, 0.5))) \(unit) "
            + "(min \(rounded(values.first ?? .nan)), p25 \(rounded(quantile(values, 0.25))), p75 \(rounded(quantile(values, 0.75))))"
    }
}

/// Measures cases in turn, again and again, so that what disturbs the machine disturbs all of them alike.
@MainActor
enum Runner {
    /// The nanoseconds of one operation of each case, over a number of rounds.
    static func time(_ cases: [Case], rounds: Int, kind: String) async -> [Figure] {
        var prepared: [(case: Case, body: Body, operations: Int, values: [[Double]])] = []
        for one in cases {
            let body = await one.prepare()
            var operations = one.operations ?? 1
            if one.operations == nil {
                while operations < 1 << 20, await body.measure(operations)[0] * Double(operations) < 300_000 {
                    operations *= 2
                }
            }
            prepared.append((one, body, operations, one.metrics.map { _ in [] }))
        }
        for _ in 0..<rounds {
            for index in prepared.indices {
                let operations = prepared[index].operations
                // Brings its code and data back into the caches, which the other cases have had.
                if prepared[index].case.operations == nil { await prepared[index].body.perform(operations / 8 + 1) }
                for (metric, value) in await prepared[index].body.measure(operations).enumerated() where !value.isNaN {
                    prepared[index].values[metric].append(value)
                }
            }
        }
        return prepared.flatMap { one in
            zip(one.case.metrics, one.values).map { metric, values in
                Figure("\(kind)/\(one.case.name)\(metric.isEmpty ? "" : "/\(metric)")", "ns", values)
            }
        }
    }

    /// The allocations of one operation of each case, after as many that are not counted.
    static func allocations(_ cases: [Case], rounds: Int) async -> [Figure] {
        var figures: [Figure] = []
        for one in cases {
            let body = await one.prepare()
            let operations = one.operations ?? 1_000
            await body.perform(operations)
            var values: [Double] = []
            for _ in 0..<rounds {
                let before = counting_allocations()
                counting_set(1)
                await body.perform(operations)
                counting_set(0)
                values.append(Double(counting_allocations() - before) / Double(operations))
            }
            figures.append(Figure("allocations/\(one.name)", "", values))
        }
        return figures
    }
}
