import Foundation

#if canImport(Combine)
import Combine
#else
import OpenCombine
#endif

extension Notification.Name { static let sold = Notification.Name("sold") }

extension ChannelName<Sale> { static var sold: Self { "till.sold" } }
