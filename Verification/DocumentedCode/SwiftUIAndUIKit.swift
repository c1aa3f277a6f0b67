import SwiftUI
import UIKit

struct Sales: Sendable, Equatable {
    var total = 0
    var dish = ""
}
