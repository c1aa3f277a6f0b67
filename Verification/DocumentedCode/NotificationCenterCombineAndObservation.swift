import Foundation
import Observation

#if canImport(Combine)
import Combine
#else
import OpenCombine
#endif

extension Notification.Name { static let salesChanged = Notification.Name("salesChanged") }

let center = NotificationCenter()
let sold = Channel<Sold>()
let typed = Channel<String>()
let queries = Channel<String>()
let moved = Channel<Int>()
let shop = Till()

@MainActor @Observable final class Basket { var total = 0 }
@MainActor let basket = Basket()

@MainActor final class Page {
    func search(_ text: String) {}
}

func show(_ position: Int) {}
func book(_ sale: Sale) {}
