/// An object that owns listeners and may do something when it goes.
package final class Owner: Sendable {
    private let atEnd: @Sendable () -> Void

    package init(atEnd: @escaping @Sendable () -> Void = {}) { self.atEnd = atEnd }

    deinit { atEnd() }
}
