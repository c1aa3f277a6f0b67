import Channels
import Shop

struct Click: Sendable { var count = 1 }

struct Fix: Sendable {}

final class Sensor: Sendable {
    init(_ onFix: @escaping @Sendable (Fix) -> Void) {}
    func stop() {}
}

struct Socket: Sendable { let frames = AsyncThrowingStream<Int, any Error> { nil } }

let socket = Socket()
let sold = Channel<Sale>()
let typed = Channel<String>()
let frames = Channel<Int>()

/// The owner of the listeners in comments.
@MainActor class Page: Sendable {
    var isDone = false
    var searching: ListenerToken?
    func show(_ sale: Sale) {}
    func show(_ sale: Sale, from sender: (any AnyObject & Sendable)?) {}
    func show(_ checkout: Checkout) {}
    func show(_ sales: Sales) {}
    func show(_ total: Int) {}
    func celebrate(_ sale: Sale) {}
    func search(_ text: String) async {}
    func userLogin(_ id: Int) {}
    func price(of item: String) async -> Int { item.count }
}

extension Page: UserEvents {}
