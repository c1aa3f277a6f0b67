import Observation
import SwiftUI
import UIKit

struct Sales: Sendable, Equatable {
    var total = 0
    var dish = ""
}

@MainActor @Observable final class Basket { var total = 0 }

actor Kitchen { func prepare(for total: Int) {} }

@MainActor let basket = Basket()
let kitchen = Kitchen()
