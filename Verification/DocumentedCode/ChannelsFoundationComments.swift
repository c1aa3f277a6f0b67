import Foundation
import Observation
import SwiftUI

#if canImport(Combine)
import Combine
#else
import OpenCombine
#endif

extension Notification.Name {
    static let sold = Notification.Name("sold")
    static let salesChanged = Notification.Name("salesChanged")
    static let userLoggedIn = Notification.Name("userLoggedIn")
}

@MainActor @Observable final class Basket { var total = 0 }

@MainActor final class Page {
    func show(_ total: Int) {}
    func show(_ date: Date) {}
    func greet(_ id: Int) {}
    func search(_ text: String) {}
}

@MainActor let basket = Basket()
let center = NotificationCenter()
@MainActor let typed = PassthroughSubject<String, Never>()
