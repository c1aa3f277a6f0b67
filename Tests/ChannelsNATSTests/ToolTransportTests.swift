#if NATS
import ArgumentParser
import ChannelsBridge
import ChannelsNATS
import Foundation
import Testing

@testable import ChannelsToolKit

#if SQLite
import ChannelsSQLite
#endif

/// Over which transport a command runs.
@Suite(.hangLimit)
struct ToolTransportTests {
    /// Connects as a command of a program that has a transport of its own.
    private func connected(_ arguments: String...) async throws -> any Transport {
        try await ChannelsTool.$makeTransport.withValue({ InMemoryTransport(InMemoryBroker()) }) {
            try await ConnectionOptions.parse(arguments).connect()
        }
    }

    @Test func aProgramsOwnTransportIsUsed() async throws {
        let transport = try await connected()
        #expect(transport is InMemoryTransport)
        // It is connected.
        await #expect { try await transport.connect { _ in } } throws: { ($0 as? BridgeError)?.code == .alreadyRunning }
        try await transport.close(timeout: .zero)
    }

    /// Nobody listens on that port.
    @Test func aServerThatIsNamedTakesItsPlace() async {
        await #expect { _ = try await connected("--server", "nats://127.0.0.1:1") } throws: {
            "\($0)".contains("127.0.0.1:1")
        }
    }

    #if SQLite
    @Test func aFileThatIsNamedTakesItsPlace() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "tool-\(UUID()).sqlite").path()
        defer { for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) } }
        let first = SQLiteTransport(path: path)
        try await first.connect { _ in }
        let transport = try await connected("--file", path)
        #expect(transport is SQLiteTransport)
        for transport in [transport, first] { try await transport.close(timeout: .seconds(10)) }
    }
    #endif
}
#endif
