import ChannelsPostgreSQL
import ChannelsToolKit
import Foundation

struct NoServer: Error, CustomStringConvertible {
    let description = "set CHANNELS_POSTGRESQL to a connection string, such as 'host=db.example.org dbname=shop'"
}

/// The channels tool over PostgreSQL.
@main
enum Tool {
    static func main() async {
        await ChannelsTool.run {
            guard let connection = ProcessInfo.processInfo.environment["CHANNELS_POSTGRESQL"] else { throw NoServer() }
            return PostgreSQLTransport(PostgreSQLConfiguration(connection: connection))
        }
    }
}
