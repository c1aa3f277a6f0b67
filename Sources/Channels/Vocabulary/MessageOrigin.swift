/// Where a message was posted.
public enum MessageOrigin: Hashable, Sendable {
    /// In this process.
    case local
    /// In another process, whose address is given.
    ///
    /// The address that a bridge sends consists of `channels/`, the bridge's name, `/`, and a number that differs for
    /// each run. An address sent by another program is passed on unchanged.
    case remote(String)

    var process: String? { if case .remote(let process) = self { process } else { nil } }
}
