import Channels
import Foundation
import OpenCombine

/// What is put to the test: something that carries numbers from whoever posts to whoever listens.
struct Medium: Sendable {
    let name: String
    /// Whether it may be used by several threads.
    let isThreadSafe: Bool
    /// Whether a registration is to end when what it returned is let go, by its documentation.
    let endsWithToken: Bool
    let make: @Sendable () -> Instance

    static let all = [channel, queuedChannel, localChannel, notificationCenter, passthroughSubject]

    /// The subject of the suite; the others are there to compare.
    static let channel = Medium(name: "Channel", isThreadSafe: true, endsWithToken: true) {
        Instance(Channel<Int> { _ in })
    }

    private static let queuedChannel = Medium(name: "Channel, queued", isThreadSafe: true, endsWithToken: true) {
        Instance(Channel<Int>(reentrancy: .queued) { _ in })
    }

    private static let localChannel = Medium(name: "LocalChannel", isThreadSafe: false, endsWithToken: true) {
        let channel = LocalChannel<Int> { _ in }
        return Instance(
            post: { channel.post($0) },
            listen: { body in
                let token = channel.listen { body($0) }
                return Registration(token) { token.cancel() }
            }
        )
    }

    private static let notificationCenter = Medium(name: "NotificationCenter", isThreadSafe: true, endsWithToken: false)
    {
        let center = NotificationCenter()
        let name = Notification.Name("conformance")
        return Instance(
            post: { center.post(name: name, object: nil, userInfo: ["number": $0]) },
            listen: { body in
                let token = center.addObserver(forName: name, object: nil, queue: nil) { notification in
                    if let number = notification.userInfo?["number"] as? Int { body(number) }
                }
                return Registration(token) { center.removeObserver(token) }
            }
        )
    }

    private static let passthroughSubject = Medium(name: "PassthroughSubject", isThreadSafe: true, endsWithToken: true)
    {
        let subject = PassthroughSubject<Int, Never>()
        return Instance(
            post: { subject.send($0) },
            listen: { body in
                let cancellable = subject.sink { body($0) }
                return Registration(cancellable) { cancellable.cancel() }
            }
        )
    }
}

/// One object of a medium.
///
/// Unchecked: cases use those that are not thread-safe on one thread only.
struct Instance: @unchecked Sendable {
    let post: (Int) -> Void
    let listen: (@escaping @Sendable (Int) -> Void) -> Registration

    init(post: @escaping (Int) -> Void, listen: @escaping (@escaping @Sendable (Int) -> Void) -> Registration) {
        self.post = post
        self.listen = listen
    }

    init(_ channel: Channel<Int>) {
        post = { channel.post($0) }
        listen = { body in
            let token = channel.listen { body($0) }
            return Registration(token) { token.cancel() }
        }
    }
}

/// What a registration returned, and how it is cancelled.
///
/// Unchecked: as its instance.
final class Registration: @unchecked Sendable {
    private let token: Any
    private let end: () -> Void

    init(_ token: Any, _ end: @escaping () -> Void) {
        self.token = token
        self.end = end
    }

    func cancel() { end() }
}
