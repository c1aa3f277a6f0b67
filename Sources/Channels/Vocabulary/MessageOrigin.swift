/// Where a message was posted.
public enum MessageOrigin: Hashable, Sendable {
    /// In this process.
    case local
    /// In another process, whose address is given. A bridge writes `channels/`, its name, `/` and a number that
    /// differs for each run; what another program sends is taken as it is.
    case remote(String)

    var process: String? { if case .remote(let process) = self { process } else { nil } }
}
