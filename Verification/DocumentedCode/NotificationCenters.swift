import Foundation

extension Notification.Name { static let salesChanged = Notification.Name("salesChanged") }

let center = NotificationCenter()
let sold = Channel<Sold>()
