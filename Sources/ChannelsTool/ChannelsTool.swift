#if NATS || SQLite
import ArgumentParser

@main
enum Main {
    static func main() async {
        StandardStreams.prepare()
        await ChannelsTool.main()
    }
}

/// Shows what is posted on channels over NATS or a file, and lets people take part.
struct ChannelsTool: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "channels",
        abstract: "Watches and posts messages of channels over NATS or an SQLite file.",
        discussion: """
            EXAMPLES
              channels tail 'shop.>' --pretty
              channels tail 'shop.>' --since 10m --json | jq .data.total
              channels post shop.sold '{"total": 3}'
              curl -s https://example.com/sale.json | channels post shop.sold --durable
              channels ask shop.price '"tea"'
              channels respond shop.price '4.50'
              channels state shop.total --watch
              channels streams
              channels dead list
              channels dead putback --all
              channels forget kitchen --file sales.sqlite
              channels top
              channels tail 'shop.>' --file sales.sqlite

            FILE
              --file, with every command but ask and respond

            SERVER
              --server, or else $NATS_URL, or else nats://127.0.0.1:4222
              --credentials, --nkey, --user, --token, or else $NATS_CREDS, $NATS_NKEY,
              $NATS_USER and $NATS_PASSWORD, $NATS_TOKEN
              --ca, --cert, --key, or else $NATS_CA, $NATS_CERT, $NATS_KEY

            EXIT STATUS
              0    done
              1    it failed; standard error says why, in one line
              64   the command line is wrong
              130  ended by ctrl-C; 143 by SIGTERM
              141  the reader of its output has closed, as with '| head -1'
            """,
        version: "0.1.0",
        subcommands: [
            Post.self, Tail.self, Ask.self, Respond.self, State.self, Streams.self, Dead.self, Forget.self, Top.self,
        ]
    )
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
enum ChannelsTool {
    static func main() {
        let line =
            "channels: this build has neither NATS nor SQLite support; run: swift run --traits NATS,SQLite channels\n"
        _ = line.withCString { write(2, $0, strlen($0)) }
        exit(1)
    }
}
#endif
