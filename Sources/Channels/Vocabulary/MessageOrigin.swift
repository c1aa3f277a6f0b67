/// Where a message was posted.
public enum MessageOrigin: Hashable, Sendable {
    /// In this process.
    case local
    /// In another process, whose name is given.
    case remote(String)

    var process: String? { if case .remote(let process) = self { process } else { nil } }
}
