#if SQLite
internal import Foundation

/// The name under which a connection holds messages in the file. It says which process that is.
enum SQLiteHolder {
    /// Containers that share a file have process numbers of their own, which say nothing about those of another.
    private static let space =
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/ns/pid")) ?? ""

    static func new() -> String {
        "\(ProcessInfo.processInfo.processIdentifier)-\(space)-\(UInt64.random(in: .min ... .max))"
    }

    /// Whether the process has certainly ended. False for a number that another process has by now.
    static func isGone(_ holder: String) -> Bool {
        let parts = holder.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count > 2, parts[1] == space, let process = pid_t(parts[0]) else { return false }
        return kill(process, 0) != 0 && errno == ESRCH
    }
}
#endif
