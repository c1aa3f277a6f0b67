import Channels

/// Reads a sequence to its end, as one listener.
final class Reader: Sendable {
    let checker: Checker
    let messages: MessageSequence<Message>
    let isBounded: Bool

    init(_ messages: MessageSequence<Message>, _ name: String, _ posters: Int, isBounded: Bool? = nil) {
        checker = Checker(name, isSerial: true, posters: posters)
        self.messages = messages
        self.isBounded = isBounded ?? name.contains("newest")
    }

    func readAll() async {
        for await message in messages { checker.note(message) }
    }

    func check(posted: Int) throws(Failure) {
        try checker.checkOrder(mayMiss: isBounded)
        try checker.require(0, messages.waitingCount, "messages that still wait")
        if !isBounded { try checker.require(0, messages.droppedCount, "messages dropped without a bound") }
        try checker.require(posted, checker.calls + messages.droppedCount, "read + dropped, of messages accepted")
    }
}
