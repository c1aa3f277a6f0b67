import CCounting

/// What a case does with a number of operations.
enum Body {
    /// Synchronous and outside every actor.
    case plain((Int) -> Void)
    /// Synchronous on the main actor.
    case main(@MainActor (Int) -> Void)
    /// Returns when all the operations have taken effect, also those on other threads.
    case waiting(@MainActor (Int) async -> Void)
    /// Takes the time itself, and returns the nanoseconds of one operation for each of the case's metrics.
    case timed((Int) -> [Double])
}

/// One thing that is measured, always with a certain number of listeners, threads or channels.
struct Case {
    /// Says what is measured, as in the tables: `channel-token/16`.
    let name: String
    /// The figures it gives; one without a name unless the case takes the time itself.
    var metrics = [""]
    /// The operations of one round. Nil: as many as take about 300 µs.
    var operations: Int?
    /// Builds what is measured. Called once, before the first round.
    let prepare: @MainActor () async -> Body
}

extension Case {
    /// A case for each number of listeners, from a function that builds the loop.
    static func plain(_ name: String, _ listeners: [Int], _ make: @escaping @Sendable (Int) -> (Int) -> Void) -> [Case]
    {
        listeners.map { count in Case(name: "\(name)/\(count)") { .plain(make(count)) } }
    }

    /// The same for loops on the main actor.
    static func main(_ name: String, _ listeners: [Int], _ make: @escaping @MainActor (Int) -> @MainActor (Int) -> Void)
        -> [Case]
    {
        listeners.map { count in Case(name: "\(name)/\(count)") { .main(make(count)) } }
    }

    /// The same for loops that wait for other threads, with a fixed number of messages a round.
    static func waiting(
        _ name: String,
        _ listeners: [Int],
        messages: Int,
        _ make: @escaping @MainActor (Int) async -> @MainActor (Int) async -> Void
    ) -> [Case] {
        listeners.map { count in
            Case(name: "\(name)/\(count)", operations: max(1, messages / count)) { .waiting(await make(count)) }
        }
    }
}

extension Body {
    /// Runs a number of operations and returns the nanoseconds each took.
    @MainActor func measure(_ operations: Int) async -> [Double] {
        if case .timed(let run) = self { return run(operations) }
        let start = nanoseconds()
        await perform(operations)
        return [Double(nanoseconds() - start) / Double(operations)]
    }

    /// Runs a number of operations.
    @MainActor func perform(_ operations: Int) async {
        switch self {
        case .plain(let run): run(operations)
        case .main(let run): run(operations)
        case .waiting(let run): await run(operations)
        case .timed(let run): _ = run(operations)
        }
    }

    /// Runs a number of operations inside `counting_region`. Only for bodies that do not wait.
    @MainActor func count(_ operations: Int) {
        var region = Region(body: self, operations: operations)
        withUnsafeMutablePointer(to: &region) { region in
            counting_region({ $0?.assumingMemoryBound(to: Region.self).pointee.run() }, region)
        }
    }
}

/// What runs inside `counting_region`, on the main thread.
private struct Region {
    let body: Body
    let operations: Int

    func run() {
        let operations = operations
        switch body {
        case .plain(let run): run(operations)
        case .main(let run): MainActor.assumeIsolated { run(operations) }
        case .waiting, .timed: preconditionFailure("what other threads do is not counted")
        }
    }
}
