struct Fix: Sendable {}

final class Sensor: Sendable {
    init(_ onFix: @escaping @Sendable (Fix) -> Void) {}
    func stop() {}
}
