#if NATS
import Foundation
import Testing

@testable import ChannelsNATS

/// Whether others can have what has not come. Deliveries 1 to 4 have.
@Suite(.hangLimit)
struct DeliveryRunTests {
    private func run(_ numbers: [UInt64]) -> DeliveryRun {
        var run = DeliveryRun()
        for number in numbers { run.received(number) }
        return run
    }

    /// - Parameter floor: Up to which delivery all are settled.
    private func state(upTo last: UInt64, floor: UInt64 = 0) throws -> ConsumerState {
        let text = #"{"delivered":{"consumer_seq":\#(last)},"ack_floor":{"consumer_seq":\#(floor)}}"#
        return try JetStream.decoder.decode(ConsumerState.self, from: Data(text.utf8))
    }

    @Test func whatWasAskedForAndHasNotComeIsLost() throws {
        var run = run([1, 2, 3, 4])
        run.lost(askedFor: 3)
        #expect(run.missed(upTo: 4) == 0 && run.missed(upTo: 7) == 3)
        #expect(try run.wasAlone(in: state(upTo: 7)) && !run.wasAlone(in: state(upTo: 8)))
    }

    @Test func whatComesMeanwhileIsNotLost() throws {
        var run = run([1, 2, 3, 4])
        run.lost(askedFor: 3)
        run.received(7)
        run.lost(askedFor: 0)
        #expect(run.missed(upTo: 7) == 2 && run.missed(upTo: 6) == 2)
        #expect(try run.wasAlone(in: state(upTo: 8)))
        run.markAlone(upTo: 7)
        run.received(8)
        run.lost(askedFor: 1)
        #expect(try run.wasAlone(in: state(upTo: 9)))
    }

    @Test func whatOthersWereGivenHasToBeSettled() throws {
        var run = run([1, 2, 4])
        run.lost(askedFor: 3)
        #expect(try !run.wasAlone(in: state(upTo: 5, floor: 2)))
        #expect(try run.wasAlone(in: state(upTo: 5, floor: 3)))
        run.markShared(upTo: 5)
        run.received(6)
        run.lost(askedFor: 3)
        #expect(try !run.wasAlone(in: state(upTo: 7, floor: 4)))
        #expect(try run.wasAlone(in: state(upTo: 7, floor: 5)))
    }

    @Test func withoutALossNothingIsAskedFor() throws {
        var run = run([1, 2, 3, 4])
        run.lost(askedFor: 3)
        run.received(5)
        run.goOn()
        #expect(run.missed(upTo: 5) == 0)
        #expect(try run.wasAlone(in: state(upTo: 5)) && !run.wasAlone(in: state(upTo: 6)))
    }
}
#endif
