import Channels

/// E. A center of protocols and methods: an observer is added only once, and need not implement every method.
@MainActor
protocol HouseEvents: AnyObject, Sendable {
    func doorsOpened()
    func doorsClosed()
}

/// A default makes a method optional.
extension HouseEvents {
    func doorsOpened() {}
    func doorsClosed() {}
}

@MainActor
final class Doorkeeper: HouseEvents {
    func doorsOpened() { say("doorkeeper", "good evening") }
    func doorsClosed() { say("doorkeeper", "good night") }
}

@MainActor
final class Cleaner: HouseEvents {
    func doorsClosed() { say("cleaner", "my turn") }
}

/// Opens the doors.
///
/// - Returns: A closure that closes the doors.
@MainActor
func notificationCentre(_ stage: Stage) -> @MainActor () -> Void {
    heading("Opening: a protocol and method centre")
    let board = stage.board
    let (doorkeeper, cleaner) = (Doorkeeper(), Cleaner())
    board.add(doorkeeper, for: (any HouseEvents).self)
    board.add(cleaner, for: (any HouseEvents).self)
    let again = board.add(doorkeeper, for: (any HouseEvents).self)
    say("centre", "the doorkeeper was \(again ? "added twice" : "added once, although it was asked for twice")")

    board.notify((any HouseEvents).self) { $0.doorsOpened() }
    stage.keep(doorkeeper, cleaner)
    return {
        board.notify((any HouseEvents).self) { $0.doorsClosed() }
        board.removeListeners(of: doorkeeper)
        let reached = board.notify((any HouseEvents).self) { $0.doorsOpened() }
        say("centre", "\(reached.of("observer", "observers")) left without the doorkeeper")
    }
}
