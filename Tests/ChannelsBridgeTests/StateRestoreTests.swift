import Channels
import ChannelsBridge
import ChannelsTesting
import Testing

/// States whose storage goes back to an older copy, whose listeners end, or that have two routes.
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

    enum End: CaseIterable { case board, listeners, state }

    /// The values of this process are not stored any more.
    @Test(arguments: End.allCases) func aStateWhoseListenersWereEndedStillTakesTheValuesOfOthers(_ end: End)
        async throws
    {
        let wire = try await connectedTransport(broker)
        let till = await MiniProcess("till", InMemoryTransport(broker), [route])
        let state = state(of: till)
        switch end {
        case .board: till.board.removeAllListeners()
        case .listeners: state.removeAllListeners()
        case .state: state.finish()
        }
        for total in 1...3 {
            _ = try await wire.store(.event("{\"total\":\(total)}", to: "shop.lastSale"))
            await wait(for: state.value.total) { $0 == total }
        }
        try await till.stop()
        try await wire.close(timeout: .seconds(1))
    }

    /// While a value of this process is being stored, another process stores one.
    @Test(arguments: [false, true])
    func twoRoutesForOneStateEndWithTheValueOfTheBroker(isPattern: Bool) async throws {
        let (begun, gate, wire) = (Gate(), Gate(), try await connectedTransport(broker))
        var holding = AlteredTransport(broker)
        holding.stores = { message in
            guard message.body == Array(#"{"total":7}"#.utf8) else { return }
            begun.open()
            await gate.wait()
        }
        let initial = Sale(total: 0)
        let incoming: BridgeRoute =
            isPattern
            ? .incoming(statesMatching: "shop.*", of: Sale.self) : .incoming(state: .lastSale, initial: initial)
        let stored = Recorder<String>()
        try await wire.watch("shop.lastSale") { stored.record(String(decoding: $0.message.body, as: UTF8.self)) }
        let till = await MiniProcess("till", holding, [incoming, .outgoing(state: .lastSale, initial: initial)])
        state(of: till).set(Sale(total: 7))
        await begun.wait()
        _ = try await wire.store(.event(#"{"total":9}"#, to: "shop.lastSale"))
        gate.open()
        await stored.wait { $0.last == #"{"total":7}"# }
        try await till.stop()
        #expect(state(of: till).value == Sale(total: 7))
        try await wire.close(timeout: .seconds(1))
    }
}
