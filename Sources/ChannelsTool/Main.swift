#if Tool
import ChannelsToolKit

@main
enum Main {
    static func main() async { await ChannelsToolKit.ChannelsTool.run() }
}
#else
#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#endif

/// Replaces the tool if the package is built with neither NATS nor SQLite.
@main
enum Main {
    static func main() {
        let line =
            "channels: this build has neither NATS nor SQLite support; run: swift run --traits NATS,SQLite channels\n"
        _ = line.withCString { write(2, $0, strlen($0)) }
        exit(1)
    }
}
#endif
