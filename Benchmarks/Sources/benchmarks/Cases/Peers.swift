import Foundation
import OpenCombine

/// Libraries that do the same synchronously.
enum Peers {
    static var cases: [Case] {
        Case.plain("notification-user-info", Floors.listeners, userInfo)
            + Case.main("notification-typed", Floors.listeners, typed)
            + Case.plain("open-combine", Floors.listeners, openCombine)
    }

    private static func userInfo(_ count: Int) -> (Int) -> Void {
        let center = NotificationCenter()
        let name = Notification.Name("benchmarks.posted")
        let observers = counters(count).map { counter in
            center.addObserver(forName: name, object: nil, queue: nil) { notification in
                if let number = notification.userInfo?["number"] as? Int { counter.add(number) }
            }
        }
        return { operations in
            for number in 0..<operations { center.post(name: name, object: nil, userInfo: ["number": number]) }
            withExtendedLifetime(observers) {}
        }
    }

    @MainActor
    private static func typed(_ count: Int) -> @MainActor (Int) -> Void {
        let center = NotificationCenter()
        let tokens = counters(count).map { counter in
            center.addObserver(of: nil, for: Posted.self) { counter.add($0.number) }
        }
        return { operations in
            for number in 0..<operations { center.post(Posted(number: number)) }
            withExtendedLifetime(tokens) {}
        }
    }

    private static func openCombine(_ count: Int) -> (Int) -> Void {
        let subject = PassthroughSubject<Int, Never>()
        let cancellables = counters(count).map { counter in subject.sink { counter.add($0) } }
        return { operations in
            for number in 0..<operations { subject.send(number) }
            withExtendedLifetime(cancellables) {}
        }
    }
}

/// What the typed notification is about. Nothing is ever passed for it.
private final class Subject {}

/// The typed notification.
private struct Posted: NotificationCenter.MainActorMessage {
    typealias Subject = benchmarks.Subject
    let number: Int
}
