#if SQLite
#if os(macOS) || os(Linux)  // The systems with exit tests.
import ChannelsBridge
import ChannelsSQLite
import ChannelsTesting
import Foundation
import TestSupport
import Testing

/// What a process is told that may not read the folder of its file.
@Suite(.hangLimit)
struct PermissionTests {
    /// Whoever believed that the file was removed would delete its write-ahead log, with the latest messages.
    @Test func aFolderWithoutRightsIsNotTakenForARemovedFile() async {
        await #expect(processExitsWith: .success) {
            let folder = try #require(ownFolder())
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let transport = SQLiteTransport(path: folder + "/shop.sqlite")
            try await transport.connect { _ in }
            try await transport.publish(try message("soup"), durable: true)
            chmod(folder, 0)
            let error = await #expect(throws: BridgeError.self) {
                try await transport.publish(try message("bread"), durable: true)
            }
            #expect(error?.detail?.hasSuffix("cannot be looked at: change the permissions of its folder") == true)
            chmod(folder, 0o700)
            try await whenUnlocked { try await transport.publish(try message("tea"), durable: true) }
            try await transport.close(timeout: .seconds(10))
        }
    }

    @Test func aToolDoesNotSayThatAFileIsMissingThatItMayNotLookAt() async {
        await #expect(processExitsWith: .success) {
            let folder = try #require(ownFolder())
            defer { try? FileManager.default.removeItem(atPath: folder) }
            var configuration = SQLiteConfiguration(path: folder + "/shop.sqlite")
            configuration.isObserver = true
            chmod(folder, 0)
            let error = await #expect(throws: BridgeError.self) {
                try await SQLiteTransport(configuration).connect { _ in }
            }
            #expect(error?.detail?.hasSuffix("cannot be looked at: change the permissions of its folder") == true)
            chmod(folder, 0o700)
        }
    }
}

/// A folder of a user to whom permissions apply. They do not apply to root, so that root becomes another user first.
private func ownFolder() -> String? {
    if geteuid() == 0 { guard seteuid(65_534) == 0 else { return nil } }
    let folder = FileManager.default.temporaryDirectory.appending(path: "channels-\(UUID())").path()
    return mkdir(folder, 0o700) == 0 ? folder : nil
}
#endif
#endif
