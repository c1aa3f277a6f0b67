import CCounting

/// What a planted regression allocates, kept here so that it is not optimised away.
@MainActor private var planted: [UInt8] = []

extension Case {
    /// The case with an allocation and some work added to every operation, so that the thresholds can be seen to fail.
    var planted: Case {
        guard metrics == [""] else { return self }
        return Case(name: name, operations: operations, isCounted: isCounted) {
            let body = await prepare()
            return .waiting { operations in
                for _ in 0..<operations {
                    await body.perform(1)
                    benchmarks.planted = [UInt8](repeating: 1, count: 64)
                }
            }
        }
    }
}
