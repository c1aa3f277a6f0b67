import Testing

@testable import Channels

/// The queue of a mailbox, without threads, against an array.
struct MessageQueueTests {
    private let living = Tally()
    private let envelopes = Tally()

    /// A queue of messages that count how many of them live, and what it should hold.
    private final class Run {
        var queue = MessageQueue(MessageLayout(Witness.self))
        var model: [(number: Int, envelope: Envelope?)] = []
        private let living: Tally
        private let envelopes: Tally
        private var last = 0

        init(_ living: Tally, _ envelopes: Tally) { (self.living, self.envelopes) = (living, envelopes) }

        var count: Int { queue.count }

        func append(withEnvelope: Bool) {
            last += 1
            let envelope = withEnvelope ? Envelope(nil, sender: Witness(envelopes)) : nil
            MessageAddress.lending(Witness(living, last)) { queue.append(copying: $0, envelope) }
            model.append((last, envelope))
        }

        /// Takes out the first. Whether it is the one that the model has.
        func moveFirst() -> Bool {
            var envelope: Envelope?
            let message = MessageAddress.receiving(as: Witness.self) {
                envelope = queue.moveFirst(to: $0)
                return true
            }
            let expected = model.removeFirst()
            return message?.number == expected.number && envelope === expected.envelope
        }

        func removeFirst() -> Bool {
            let (message, envelope) = queue.peek()
            let expected = model.removeFirst()
            let isRight =
                message.load(as: Witness.self).number == expected.number && envelope?.object === expected.envelope
            queue.removeFirst()
            return isRight
        }

        var lastNumber: Int? { queue.last?.load(as: Witness.self).number }

        func giveBack() { queue.giveBack() }

        /// Empties the queue; what was in it is released here.
        func takeAll() -> Bool {
            var taken = MessageQueue(queue.layout)
            swap(&queue, &taken)
            let isRight = taken.count == model.count && queue.isEmpty
            model = []
            return isRight
        }

        func discardAll() {
            queue.discardAll()
            model = []
        }
    }

    @Test(arguments: Seed.first(100))
    func itHoldsWhatTheModelHoldsAndNothingElseLives(seed: Seed) {
        var random = SeededGenerator(seed: seed.number)
        let mostWithEnvelope = [0, 1, 5, 10][seed.number % 4]
        do {
            let run = Run(living, envelopes)
            for _ in 0..<20 {
                // Filled far beyond one block, and emptied again.
                for _ in 0..<Int.random(in: 0...200, using: &random) {
                    run.append(withEnvelope: Int.random(in: 1...10, using: &random) <= mostWithEnvelope)
                }
                #expect(run.lastNumber == run.model.last?.number)
                let rest = Bool.random(using: &random) ? 0 : Int.random(in: 0...run.count, using: &random)
                while run.count > rest {
                    let isRight = Bool.random(using: &random) ? run.moveFirst() : run.removeFirst()
                    #expect(isRight)
                }
                switch Int.random(in: 0..<6, using: &random) {
                case 0: run.giveBack()
                case 1: #expect(run.takeAll())
                case 2: run.discardAll()
                default: break
                }
                #expect(run.count == run.model.count)
                #expect(living.value == run.count)
                #expect(envelopes.value == run.model.count { $0.envelope != nil })
            }
            for index in 0..<40 { run.append(withEnvelope: index % 2 == 0) }
        }
        // What is left goes with the queue.
        #expect(living.value == 0 && envelopes.value == 0)
    }

    @Test func anEmptyQueueGivesItsBlockBackAndCanBeFilledAgain() {
        let run = Run(living, envelopes)
        for round in 0..<3 {
            for index in 0..<1_000 { run.append(withEnvelope: round == 1 && index == 990) }
            while run.count > 0 { #expect(run.moveFirst()) }
            run.giveBack()
            run.append(withEnvelope: false)
            #expect(run.lastNumber == run.model.last?.number)
            #expect(run.removeFirst())
        }
        #expect(living.value == 0)
    }

    #if os(macOS) || os(Linux)  // The systems with exit tests.
    /// A small block is kept for the next messages, a large one is not.
    @Test func whatManyEmptyQueuesKeepIsLittle() async {
        await #expect(processExitsWith: .success) {
            let before = bytesInUse()
            let runs = (0..<100).map { _ in IdleQueue(after: 2_000) }
            let kept = (bytesInUse() - before) / runs.count
            #expect(kept < 3_000, "\(kept) bytes each")
            withExtendedLifetime(runs) {}
        }
    }
    #endif

    private final class IdleQueue {
        private typealias Large = (Int, Int, Int, Int, Int, Int, Int, Int)
        private var queue = MessageQueue(MessageLayout(Large.self))

        init(after count: Int) {
            let message: Large = (0, 0, 0, 0, 0, 0, 0, 0)
            for _ in 0..<count { MessageAddress.lending(message) { queue.append(copying: $0, nil) } }
            while !queue.isEmpty { queue.removeFirst() }
            queue.giveBack()
        }
    }

    @Test func whatIsDiscardedIsReportedOncePerMessage() async {
        let tracker = PostTracker(chain: nil)
        var queue = MessageQueue(MessageLayout(Int.self))
        for number in 0..<40 {
            let isAwaited = number % 3 == 0
            let envelope = Envelope(nil, tracker: isAwaited ? tracker : nil)
            if isAwaited { tracker.expectOne() }
            MessageAddress.lending(number) { queue.append(copying: $0, envelope) }
        }
        queue.discardAll()
        let isEmpty = queue.isEmpty
        let report = await tracker.wait()
        #expect(isEmpty && report.reachedCount == 14 && report.discardedCount == 14)
    }
}
