import ChannelsBridge
import Synchronization
import Testing

/// What `InboundMessage` promises for the author of a transport.
struct SettlingTests {
    private final class Ends: Sendable {
        let all = Mutex<[Settlement?]>([])

        func message() throws -> InboundMessage {
            InboundMessage(try TransportMessage(subject: "a", body: [])) { [self] end in all.withLock { $0.append(end) }
            }
        }
    }

    @Test func onlyTheFirstSettlementCountsAndNoReleaseAfterIt() throws {
        let ends = Ends()
        do {
            let message = try ends.message()
            message.settle?(.retry(after: .seconds(1)))
            message.settle?(.acknowledged)
        }
        #expect(ends.all.withLock { $0 } == [.retry(after: .seconds(1))])
    }

    @Test func theReleaseOfTheLastCopyEndsAMessageThatIsNotSettled() throws {
        let ends = Ends()
        var copies = [try ends.message()]
        copies.append(copies[0])
        copies.removeLast()
        #expect(ends.all.withLock { $0 } == [])
        copies = []
        #expect(ends.all.withLock { $0 } == [nil])
    }

    @Test func messageThatIsNotDurableHasNothingToSettle() throws {
        #expect(InboundMessage(try TransportMessage(subject: "a", body: [])).settle == nil)
    }
}
