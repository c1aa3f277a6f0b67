import Foundation

/// What is asked of a medium, without looking inside. A case throws what it found, or returns.
struct Case: Sendable {
    let name: String
    var needsThreads = false
    var needsEndingWithToken = false
    let run: @Sendable (Instance) throws -> Void

    static let all = order + cancelling + recursion + threads + memory

    private static let order = [
        Case(name: "every listener hears every message once, in order") { medium in
            let heard = (0..<8).map { _ in Heard() }
            let registrations = heard.map { heard in medium.listen { heard.add($0) } }
            for number in 0..<100 { medium.post(number) }
            for heard in heard { try require(heard.all == Array(0..<100), "\(heard.all.count) messages") }
            withExtendedLifetime(registrations) {}
        },
        Case(name: "listeners are called in the order of registration") { medium in
            let heard = Heard()
            let registrations = (0..<32).map { index in medium.listen { _ in heard.add(index) } }
            medium.post(1)
            try require(heard.all == Array(0..<32), "called in the order \(heard.all)")
            withExtendedLifetime(registrations) {}
        },
        Case(name: "that order survives cancellations and new registrations") { medium in
            let heard = Heard()
            var registrations = (0..<32).map { index in medium.listen { _ in heard.add(index) } }
            for index in stride(from: 0, to: 32, by: 2) { registrations[index].cancel() }
            registrations += (32..<48).map { index in medium.listen { _ in heard.add(index) } }
            medium.post(1)
            let expected = Array(stride(from: 1, to: 32, by: 2)) + Array(32..<48)
            try require(heard.all == expected, "called in the order \(heard.all)")
            withExtendedLifetime(registrations) {}
        },
    ]

    private static let cancelling = [
        Case(name: "a cancelled listener is not called again") { medium in
            let heard = Heard()
            let registration = medium.listen { heard.add($0) }
            medium.post(1)
            registration.cancel()
            medium.post(2)
            try require(heard.all == [1], "heard \(heard.all)")
        },
        Case(name: "one that cancels itself in mid-post skips nobody") { medium in
            let heard = Heard()
            let slot = Slot()
            let first = medium.listen { _ in heard.add(1) }
            slot.set(
                medium.listen { _ in
                    heard.add(2)
                    slot.cancel()
                }
            )
            let last = medium.listen { _ in heard.add(3) }
            medium.post(1)
            medium.post(2)
            // Whatever the order.
            try require(heard.all.sorted() == [1, 1, 2, 3, 3], "the calls were \(heard.all)")
            withExtendedLifetime((first, last)) {}
        },
        Case(name: "one cancelled in mid-post before its turn is not called") { medium in
            let heard = Heard()
            let slot = Slot()
            let cancelled = Counter()
            let first = medium.listen { _ in
                slot.cancel()
                cancelled.add()
            }
            // Where the order is another, it may have been called before.
            slot.set(medium.listen { if cancelled.value > 0 { heard.add($0) } })
            let last = medium.listen { _ in }
            medium.post(1)
            try require(heard.all.isEmpty, "it was called")
            withExtendedLifetime((first, last)) {}
        },
        Case(name: "one added in mid-post misses that message") { medium in
            let heard = Heard()
            let slot = Slot()
            let first = medium.listen { number in if number == 1 { slot.set(medium.listen { heard.add($0) }) } }
            medium.post(1)
            medium.post(2)
            try require(heard.all == [2], "heard \(heard.all)")
            withExtendedLifetime(first) {}
        },
    ]

    private static let recursion = [
        Case(name: "posts nested 50 deep all arrive") { try nest($0, 50) },
        Case(name: "posts nested 1,000 deep all arrive") { try nest($0, 1_000) },
        Case(name: "a listener that always posts again does not end the process") { medium in
            let registration = medium.listen { medium.post($0 + 1) }
            medium.post(0)
            withExtendedLifetime(registration) {}
        },
        Case(name: "listeners hear nested posts in one order") { medium in
            let heard = Heard()
            let first = medium.listen { if $0 < 3 { medium.post($0 + 1) } }
            let second = medium.listen { heard.add($0) }
            medium.post(1)
            try require(heard.all == [1, 2, 3], "the second heard \(heard.all)")
            withExtendedLifetime((first, second)) {}
        },
    ]

    private static func nest(_ medium: Instance, _ depth: Int) throws {
        let heard = Heard()
        let registration = medium.listen { number in
            heard.add(number)
            if number < depth { medium.post(number + 1) }
        }
        medium.post(1)
        try require(heard.all.count == depth, "\(heard.all.count) of \(depth) arrived")
        withExtendedLifetime(registration) {}
    }
}
