import Dispatch

struct Fix: Sendable {}

final class Sensor: Sendable {
    func start() {}
    func stop() {}
}

actor Journal {
    func write(_ sale: Sale) async throws {}
    nonisolated func close() {}
}

let sensor = Sensor()

func sellEverything(_ till: Till) async {}
