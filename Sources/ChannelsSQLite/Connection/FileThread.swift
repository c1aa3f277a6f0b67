#if SQLite
internal import Channels
internal import ChannelsBridge
internal import Foundation

/// The thread of a connection, which is the only one to use its state and its file.
enum FileThread {
    /// Starts a thread that opens the file, and ends when the connection does.
    ///
    /// - Parameter opened: Called once, on the thread, when the file has been opened or could not be opened.
    static func start(
        _ configuration: SQLiteConfiguration,
        _ mailbox: FileMailbox,
        onEvent: @escaping @Sendable (TransportEvent) -> Void,
        opened: @escaping @Sendable (BridgeError?) -> Void
    ) {
        Thread.detachNewThread {
            run(FileConnection(configuration, mailbox, FileEnvironment(), onEvent: onEvent, opened: opened), mailbox)
        }
    }

    private static func run(_ connection: FileConnection, _ mailbox: FileMailbox) {
        let watch = FileWatch()
        while true {
            for request in mailbox.take() { request(connection) }
            guard let next = connection.turn(.now) else {
                if mailbox.close() { return }
                continue
            }
            watch.follow(connection.watchList)
            connection.isWatching = watch.isWatching
            if connection.takeHasWritten() {
                // The connection's own writes are not a hint.
                let hints = watch.takeHints()
                if hints.hasMemberClosed { connection.memberHasClosed() }
            }
            guard next > .now, mailbox.fallsAsleep() else { continue }
            let hints = watch.wait(until: next, mailbox.wakeUp)
            mailbox.wakes()
            if hints.isLogWritten { connection.logIsWritten(.now) }
            if hints.hasMemberClosed { connection.memberHasClosed() }
        }
    }
}
#endif
