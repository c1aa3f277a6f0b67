struct Fix: Sendable {}

final class Sensor: Sendable {
    func start() {}
    func stop() {}
}

let sensor = Sensor()
