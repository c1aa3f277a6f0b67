#if Tool
import ArgumentParser
public import ChannelsBridge

/// The command-line tool `channels`, over a transport of your own.
///
/// ```swift
/// import ChannelsToolKit
///
/// @main enum Tool {
///     static func main() async { await ChannelsTool.run { ShopTransport() } }
/// }
/// ```
///
/// The program then has the commands of `channels`: it posts messages and prints them as they are posted, asks and
/// responds, shows and sets states, lists what is stored, and puts dead letters back. If a command needs a capability
/// that the transport lacks, it fails and names that capability. `tail --since` and `forget` work over NATS or a file
/// only.
///
/// If the trait NATS or SQLite is also enabled, `--server` or `--file` takes the place of your transport.
public enum ChannelsTool {
    /// Creates a transport that is not connected. A command connects it once, and closes it at the end.
    public typealias MakeTransport = @Sendable () async throws -> any Transport

    /// What the program hands to its commands; nil for the tool of this package.
    @TaskLocal static var makeTransport: MakeTransport?

    /// Runs the command given in the arguments of the process.
    ///
    /// Returns when the command has done its work. If it fails, or a signal ends it, the process exits, with the status
    /// that `--help` lists. Call it once, and write nothing to standard output before that.
    ///
    /// - Parameter makeTransport: Creates a transport that is not connected. An error that it throws is printed as one
    ///   line, and the process exits with status 1.
    public static func run(over makeTransport: @escaping MakeTransport) async {
        await $makeTransport.withValue(makeTransport) { await run() }
    }

    /// Runs a command over what its options name.
    package static func run() async {
        StandardStreams.prepare()
        await ChannelsCommand.main()
    }
}
#endif
