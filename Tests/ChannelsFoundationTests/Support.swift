import Channels
import ChannelsFoundation
import Foundation
@_exported public import TestSupport

extension Notification.Name {
    static let sold = Notification.Name("sold")
    static let told = Notification.Name("told")
}

extension NotificationCenter {
    /// The number in each notification, and how many notifications have been looked at: none while the center
    /// has no observer.
    func numbers(_ seen: Tally = Tally(), for name: Notification.Name = .sold) -> NotificationChannel<Int> {
        channel(for: name) { notification in
            seen.add()
            return notification.userInfo?["number"] as? Int
        }
    }

    func post(_ number: Int, as name: Notification.Name = .sold) {
        post(name: name, object: nil, userInfo: ["number": number])
    }
}
