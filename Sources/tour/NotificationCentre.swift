import Channels

/// E. A centre for observers: nobody is in it twice, and who does not implement a method is not bothered.
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

@MainActor
func notificationCentre(_ stage: Stage) {
    heading("E. Protocol and method, without duplicates")
    let board = stage.board
    let (doorkeeper, cleaner) = (Doorkeeper(), Cleaner())
    board.add(doorkeeper, for: (any HouseEvents).self)
    board.add(cleaner, for: (any HouseEvents).self)
    let again = board.add(doorkeeper, for: (any HouseEvents).self)
    say("centre", "the doorkeeper was \(again ? "added again" : "there already")")

    board.notify((any HouseEvents).self) { $0.doorsOpened() }
    board.notify((any HouseEvents).self) { $0.doorsClosed() }
    board.removeAll(doorkeeper)
    let reached = board.notify((any HouseEvents).self) { $0.doorsOpened() }
    say("centre", "\(reached.of("observer", "observers")) left without the doorkeeper")
    stage.keep(doorkeeper, cleaner)
}
