import Channels
import ServiceLifecycle

/// Sells something every few milliseconds, until the shop closes.
actor Till: Service {
    private let board: Switchboard
    private(set) var sold = 0

    init(_ board: Switchboard) { self.board = board }

    func run() async throws {
        try? await cancelWhenGracefulShutdown {
            while true {
                try await Task.sleep(for: .milliseconds(5))
                await self.sell()
            }
        }
    }

    private func sell() {
        sold += 1
        board[.sold].post(Sale(number: sold))
    }
}
