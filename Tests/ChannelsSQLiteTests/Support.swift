#if SQLite
import Channels
import ChannelsBridge
@testable import ChannelsSQLite
import ChannelsTesting
import Foundation
import GRDB
import TestSupport
import Testing

struct Sale: Codable, Sendable, Equatable {
    var dish: String
    var total: Int
}

extension ChannelName<Sale> {
    static var sold: Self { "shop.sold" }
}

extension TemporaryFile {
    /// A connected transport. It never gives up while the file is locked: on a busy machine, a test may hold the lock for minutes.
    func connected(_ configuration: SQLiteConfiguration? = nil) async throws -> SQLiteTransport {
        let transport = SQLiteTransport(configuration ?? SQLiteConfiguration(path: path, busyTimeout: .seconds(86_400)))
        try await transport.connect { event in
            // On a machine that stands still for seconds, a file is locked that long, and is told of. It goes on by itself.
            if case .failed(let error) = event, error.code != .notConnected { Issue.record("\(error)") }
        }
        return transport
    }

    /// Another program's connection to the file, whose transactions may stay open: they lock it.
    func foreignDatabase() throws -> DatabaseQueue {
        var settings = Configuration()
        settings.allowsUnsafeTransactions = true
        settings.busyMode = .timeout(60)
        return try DatabaseQueue(path: path, configuration: settings)
    }
}

func message(_ text: String, to subject: String = "shop.sold", id: String? = nil) throws -> TransportMessage {
    try TransportMessage(subject: subject, headers: id.map { ["ce-id": $0] } ?? [:], body: Array(text.utf8))
}

/// Repeats what fails because the file is locked: on a machine that stands still for seconds, it is.
func whenUnlocked(_ body: () async throws -> Void) async throws {
    while true {
        do { return try await body() } catch let error as BridgeError where error.code == .notConnected {
            await Task.yield()
        }
    }
}

/// What a durable name hears, settled.
func hear(_ name: String, on transport: SQLiteTransport, from start: ReplayStart? = nil) async throws
    -> Recorder<String>
{
    let heard = Recorder<String>()
    let subscription = TransportSubscription(to: "shop.>", durableName: name, start: start)
    try await transport.subscribe(subscription) { message in
        heard.record(String(decoding: message.message.body, as: UTF8.self))
        message.settle?(.acknowledged)
    }
    return heard
}
#endif
