import Testing

@testable import ChannelsBridge

@Suite(.hangLimit)
struct ConnectionPhaseTests {
    private let phase = ConnectionPhase<Int>("shop.sqlite")

    @Test func whatIsClosedWhileItConnectsIsAbandonedAndMayConnectAgain() async throws {
        var abandoned: [Int] = []
        await #expect {
            try await phase.connect {
                #expect(phase.close() == nil)
                return 1
            } abandon: {
                abandoned.append($0)
            }
        } throws: {
            ($0 as? BridgeError)?.code == .closed
        }
        #expect(abandoned == [1])
        #expect(throws: BridgeError.self) { try phase.connection() }
        #expect(
            try await phase.connect {
                2
            } abandon: {
                abandoned.append($0)
            } == 2
        )
        #expect(try phase.connection() == 2 && abandoned == [1])
    }

    /// It was closed, and is being connected again.
    @Test func earlierAttemptChangesNothingOfALaterOne() async throws {
        var abandoned: [Int] = []
        await #expect(throws: BridgeError.self) {
            try await phase.connect {
                _ = phase.close()
                _ = try await phase.connect {
                    2
                } abandon: {
                    abandoned.append($0)
                }
                return 1
            } abandon: {
                abandoned.append($0)
            }
        }
        #expect(try phase.connection() == 2 && abandoned == [1])
        #expect(phase.close() == 2 && phase.close() == nil)
    }

    @Test func isConnectedOnceAtATimeAndSaysWhere() async throws {
        await #expect {
            try await phase.connect {
                _ = try await phase.connect {
                    2
                } abandon: { _ in
                }
                return 1
            } abandon: { _ in
            }
        } throws: {
            "\($0)" == "alreadyRunning, shop.sqlite: the transport is connected: close it first"
        }
        #expect {
            try phase.connection(for: "shop.sold")
        } throws: {
            "\($0)" == "notConnected on 'shop.sold', shop.sqlite: connect has not returned yet"
        }
    }
}
