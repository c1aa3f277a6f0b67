import ChannelsTesting
import Foundation
import ServiceLifecycle

@testable import Storefront

/// Runs a shop in this process, with its own ledger and port, and shuts it down.
func withShop<Result: Sendable>(
    _ shop: Shop = Shop(rate: 0),
    _ body: (_ shop: Shop, _ port: Int) async throws -> Result
) async throws -> Result {
    try await withDirectory { directory in
        var shop = shop
        let ports = Recorder<Int>()
        shop.port = 0
        shop.directory = directory
        shop.logger.logLevel = .critical
        shop.onRunning = { port in ports.record(port) }
        let group = ServiceGroup(configuration: .init(services: try shop.services(), logger: shop.logger))
        return try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            let result: Swift.Result<Result, any Error>
            do {
                result = .success(try await body(shop, try await ports.next(timeout: .seconds(30))))
            } catch {
                result = .failure(error)
            }
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
            return try result.get()
        }
    }
}

/// A directory that is removed at the end.
func withDirectory<Result>(_ body: (String) async throws -> Result) async throws -> Result {
    let directory = FileManager.default.temporaryDirectory.appending(path: "storefront-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    return try await body(directory.path)
}

extension Sale {
    static func test(_ id: String, menu: Menu = .lunch, guests: Int = 2, bill: Int = 1_000, tip: Int = 100) -> Sale {
        Sale(id: id, name: "Table \(id)", menu: menu, guests: guests, bill: bill, tip: tip)
    }

    var json: String {
        """
        {"id":"\(id)","name":"\(name)","menu":"\(menu.rawValue)","guests":\(guests),"bill":\(bill),"tip":\(tip)}
        """
    }
}
