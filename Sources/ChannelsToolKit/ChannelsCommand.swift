#if Tool
import ArgumentParser

/// Shows people what flows through channels between processes, and lets them take part.
struct ChannelsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "channels",
        abstract: "Watches and posts messages of channels between processes.",
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
            \(connections)
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

    /// What this build can connect with, besides a transport of the program.
    private static var connections: String {
        var text = ""
        #if SQLite
        text += """

            FILE
              --file, with every command but ask and respond

            """
        #endif
        #if NATS
        text += """

            SERVER
              --server, or else $NATS_URL, or else nats://127.0.0.1:4222
              --credentials, --nkey, --user, --token, or else $NATS_CREDS, $NATS_NKEY,
              $NATS_USER and $NATS_PASSWORD, $NATS_TOKEN
              --ca, --cert, --key, or else $NATS_CA, $NATS_CERT, $NATS_KEY

            """
        #endif
        return text
    }
}
#endif
