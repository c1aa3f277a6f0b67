import Channels
import ChannelsTesting
import XCTest

/// The same tools in tests of XCTest, which Scripts/test runs by themselves.
final class InXCTest: XCTestCase {
    func testARecorderWaitsForWhatListenersRecord() async throws {
        let sold = Channel<Sale>()
        let recorder = Recorder<Int>()
        let kitchen = Kitchen(sold, recorder)
        for total in 1...3 { sold.post(Sale(total: total)) }
        let cooked = try await recorder.next(3, timeout: generous)
        XCTAssertEqual(cooked, [1, 2, 3])
        withExtendedLifetime(kitchen) {}
    }

    func testAMessageThatIsMissingThrows() async {
        let failed = await failure { _ = try await Recorder<Int>().next(timeout: .milliseconds(1)) }
        XCTAssertEqual(failed?.code, .missingMessages)
    }

    func testALaneDeliversWhenTold() async {
        let sold = Channel<Int>()
        let heard = Recorder(of: sold)
        let lane = ManualLane()
        lane.hold(sold)
        sold.post(1)
        XCTAssertEqual(heard.all, [])
        await lane.deliver()
        XCTAssertEqual(heard.all, [1])
    }

    @MainActor
    func testASwitchboardFailsTheTestOnAFaultAndOnAListenerThatIsLeft() async throws {
        let sold = ChannelName<Sale>("shop.sold")
        try await withSwitchboard { board in
            let kitchen = Kitchen(board[sold])
            await board[sold].postAndWait(Sale(total: 1))
            withExtendedLifetime(kitchen) {}
        }
        let owner = Owner()
        let failed = await failure {
            try await withSwitchboard(settlingTimeout: .zero) { board in board[sold].listen(owner) { _, _ in } }
        }
        XCTAssertEqual(failed?.code, .listenersLeft)
        withExtendedLifetime(owner) {}
    }
}
