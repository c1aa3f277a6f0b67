import Channels

/// C. A protocol is the message: each method is a kind of message, and its parameters are the content.
@MainActor
protocol ShiftEvents: AnyObject, Sendable {
    func dayEnded(_ day: String, takings: Int)
    func shiftEnded(days: Int)
}

@MainActor
final class Auditor: ShiftEvents {
    private var takings: [Int] = []

    func dayEnded(_ day: String, takings: Int) {
        self.takings.append(takings)
    }

    func shiftEnded(days: Int) {
        guard let least = takings.min(), let most = takings.max() else { return }
        say(
            "auditor",
            "\(days.of("day", "days")), from \(least.dollars) to \(most.dollars), together \(takings.reduce(0, +).dollars)"
        )
    }
}

@MainActor
final class Owner: ShiftEvents {
    func dayEnded(_ day: String, takings: Int) {
        say("owner", "\(day) brought \(takings.dollars)")
    }

    func shiftEnded(days: Int) {}
}

@MainActor
func protocolNotifications(_ sales: [Sale], _ stage: Stage) {
    heading("Closing: a protocol as the message")
    let board = stage.board
    let (auditor, owner) = (Auditor(), Owner())
    board.add(owner, for: (any ShiftEvents).self)
    board.add(auditor, for: (any ShiftEvents).self, priority: .high)

    let days = sales.distinct(\.day)
    for day in days.prefix(7) {
        let takings = sales.lazy.filter { $0.day == day }.map(\.bill).reduce(0, +)
        board.notify((any ShiftEvents).self) { $0.dayEnded(day, takings: takings) }
    }
    board.notify((any ShiftEvents).self) { $0.shiftEnded(days: min(days.count, 7)) }
    stage.keep(auditor, owner)
}
