#if NATS
import ArgumentParser

/// Shows people what flows through channels that travel over NATS, and lets them take part.
@main
struct ChannelsTool: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "channels",
        abstract: "Looks at what flows through channels, and takes part.",
        discussion:
            "What is invalid, and what a server refuses, is one line on standard error and the exit status 1; nothing is sent then.",
        subcommands: [Post.self, Tail.self, Ask.self, State.self]
    )
}
#else
#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// What stands in for the tool where the package is built without NATS.
@main
enum ChannelsTool {
    static func main() {
        let line = "channels: built without NATS. Build it with the trait: swift run --traits NATS channels\n"
        _ = line.withCString { write(2, $0, strlen($0)) }
        exit(1)
    }
}
#endif
