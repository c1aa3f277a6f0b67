internal import Channels

/// Room for a number of messages with a total number of bytes. A message that is larger than all of the room
/// fits if the room is empty.
package struct Room: Sendable {
    /// How many messages may be in it: none with 0.
    package var limit: Int
    package let byteLimit: Int
    /// How many messages are in it, and their bytes.
    package private(set) var (count, bytes) = (0, 0)

    /// - Precondition: Both limits are positive.
    package init(messages limit: Int, bytes byteLimit: Int) {
        require(
            limit > 0 && byteLimit > 0,
            "TransportSubscription: its limits of \(limit) messages and \(byteLimit) bytes must be positive; write 1 or more"
        )
        (self.limit, self.byteLimit) = (limit, byteLimit)
    }

    package var isEmpty: Bool { count == 0 }

    /// How many more messages and bytes fit. The bytes are negative while it holds a message that is larger
    /// than all of the room.
    package var free: (messages: Int, bytes: Int) { (limit - count, byteLimit - bytes) }

    package func has(roomFor bytes: Int) -> Bool { count < limit && (isEmpty || self.bytes <= byteLimit - bytes) }

    package mutating func take(bytes: Int) { (count, self.bytes) = (count + 1, self.bytes + bytes) }

    package mutating func giveBack(bytes: Int) { (count, self.bytes) = (count - 1, self.bytes - bytes) }

    package mutating func giveBackAll() { (count, bytes) = (0, 0) }
}
