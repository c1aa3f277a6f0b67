import Channels
import ChannelsBridge
import ChannelsTesting
import Testing

/// States whose storage goes back to an older copy.
@Suite(.hangLimit)
struct StateRestoreTests {
    private let broker = InMemoryBroker()
    private let route = BridgeRoute.both(state: .lastSale, initial: Sale(total: 0))

    private func state(of process: MiniProcess) -> StateChannel<Sale> {
        process.board.state(.lastSale, initial: Sale(total: -1))
    }

    /// This process has set newer values since, or received them.
    @Test(arguments: [false, true])
    func valueOfThisProcessThatIsStoredAgainReplacesALaterOne(isReplacedElsewhere: Bool) async throws {
        let wire = try await connectedTransport(broker)
        let stored = Recorder<TransportMessage>()
        try await wire.watch("shop.lastSale") { stored.record($0.message) }
        let till = await MiniProcess("till", InMemoryTransport(broker), [route])
        for total in 1...3 {
            state(of: till).set(Sale(total: total))
            await stored.wait { $0.last?.body == Array(#"{"total":\#(total)}"#.utf8) }
        }
        let newest = try #require(stored.all.last)
        let older = try #require(stored.all.last { $0.body == Array(#"{"total":1}"#.utf8) })
        if isReplacedElsewhere {
            _ = try await wire.store(.event(#"{"total":9}"#, to: "shop.lastSale"))
            _ = await state(of: till).first { $0.total == 9 }
        }
        let again = isReplacedElsewhere ? newest : older
        _ = try await wire.store(again)
        _ = await state(of: till).first { $0.total == (isReplacedElsewhere ? 3 : 1) }
        // It is not sent back, and this process may set another.
        state(of: till).set(Sale(total: 4))
        await stored.wait { $0.last?.body == Array(#"{"total":4}"#.utf8) }
        #expect(state(of: till).value == Sale(total: 4))
        try await till.stop()
        try await wire.close(timeout: .seconds(1))
    }
}
