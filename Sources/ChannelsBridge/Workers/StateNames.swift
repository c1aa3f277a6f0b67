internal import Channels

/// The names that a ``MatchingStatesWorker`` carries: the transitions, without locks.
struct StateNames<Worker> {
    enum Found {
        case known(Worker)
        /// It was made now, and is to begin if the route does its work.
        case new(Worker, begins: Bool)
        /// There are too many names from other processes.
        case tooMany
        case ended
    }

    private enum Phase { case starting, working, ended }

    /// How many names are taken in from other processes. Each takes up about a kilobyte besides its value.
    static var limit: Int { 16_384 }

    private var phase = Phase.starting
    private var workers: [ExactText: Worker] = [:]
    /// How many of them other processes have brought.
    private var takenIn = 0

    var all: [Worker] { Array(workers.values) }

    func worker(of name: String) -> Worker? { workers[ExactText(name)] }

    /// - Parameter isFromElsewhere: Whether another process has brought the name.
    mutating func worker(of name: String, isFromElsewhere: Bool, make: () -> Worker) -> Found {
        if let worker = worker(of: name) { return .known(worker) }
        if phase == .ended { return .ended }
        if isFromElsewhere, takenIn >= Self.limit { return .tooMany }
        let worker = make()
        workers[ExactText(name)] = worker
        takenIn += isFromElsewhere ? 1 : 0
        return .new(worker, begins: phase == .working)
    }

    /// From now on, workers begin when they are made.
    ///
    /// - Returns: Those that are to begin now.
    mutating func begin() -> [Worker] {
        phase = .working
        return all
    }

    /// No more workers are made.
    mutating func end() -> [Worker] {
        phase = .ended
        return all
    }
}
