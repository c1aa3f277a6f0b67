import CCounting

extension Case {
    /// The case with an allocation and some work added to every operation, so that the thresholds can be seen
    /// to fail.
    var planted: Case {
        guard metrics == [""] else { return self }
        return Case(name: name, operations: operations) {
            switch await prepare() {
            case .plain(let run): .plain { for _ in 0..<$0 { plant(run(1)) } }
            case .main(let run): .main { for _ in 0..<$0 { plant(run(1)) } }
            case .waiting(let run): .waiting { for _ in 0..<$0 { plant(await run(1)) } }
            case .timed(let run): .timed(run)
            }
        }
    }
}

/// Allocates, after an operation.
private func plant(_ operation: Void) {
    let block = UnsafeMutablePointer<Int>.allocate(capacity: 8)
    block.initialize(repeating: 0, count: 8)
    counting_consume(Int64(Int(bitPattern: block)))
    block.deallocate()
}
