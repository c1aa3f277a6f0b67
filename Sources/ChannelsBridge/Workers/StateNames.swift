internal import Channels

/// The names that a ``MatchingStatesWorker`` carries: the transitions, without locks.
struct StateNames<Worker> {
    enum Found {
        case known(Worker)
        /// The worker was created by this call. It begins at once if the route is working.
        case new(Worker, begins: Bool)
        /// There are too many names from other processes.
        case tooMany
        case ended
    }

    private enum Phase { case starting, working, ended }

    /// How many names are accepted from other processes. Each takes up about a kilobyte in addition to its
    /// value.
    static var limit: Int { 16_384 }

    private var phase = Phase.starting
    private var workers: [ExactText: Worker] = [:]
    /// The workers, in the order in which they were created.
    private(set) var all: [Worker] = []
    /// How many of the names came from other processes.
    private var takenIn = 0

    func worker(of name: String) -> Worker? { workers[ExactText(name)] }

    /// - Parameter isFromElsewhere: Whether the name comes from another process.
    mutating func worker(of name: String, isFromElsewhere: Bool, make: () -> Worker) -> Found {
        if let worker = worker(of: name) { return .known(worker) }
        if phase == .ended { return .ended }
        if isFromElsewhere, takenIn >= Self.limit { return .tooMany }
        let worker = make()
        workers[ExactText(name)] = worker
        all.append(worker)
        takenIn += isFromElsewhere ? 1 : 0
        return .new(worker, begins: phase == .working)
    }

    /// Lets workers begin as soon as they are created.
    ///
    /// - Returns: The workers that have to begin now.
    mutating func begin() -> [Worker] {
        phase = .working
        return all
    }

    /// Stops the creation of workers, and returns all of them.
    mutating func end() -> [Worker] {
        phase = .ended
        return all
    }
}
