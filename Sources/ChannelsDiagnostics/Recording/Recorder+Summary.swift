internal import Channels
internal import Synchronization

extension Recorder {
    var summary: String {
        let count = count
        var text = ", \(counted(count.posts, "post"))"
        if count.unreceived > 0 { text += ", \(count.unreceived) unreceived" }
        if count.lostOwners > 0 { text += ", \(counted(count.lostOwners, "owner")) deallocated" }
        for poster in count.posters {
            let site = poster.site.map { ", \($0)" } ?? ""
            text += "\n  from \(poster.senderType ?? "no one named"), \(counted(poster.postCount, "post"))\(site)"
        }
        return text
    }

    func summary(of listener: ListenerEntry) -> String {
        guard let record = listener.recorded else { return "" }
        var text = ""
        let (mostWaiting, failures) = (
            record.mostWaiting.load(ordering: .relaxed), record.failures.load(ordering: .relaxed)
        )
        if mostWaiting > 0 { text += ", \(mostWaiting) waiting at most" }
        if failures > 0 { text += ", \(failures) failed" }
        guard traces else { return text }
        if let slow = record.waited.histogram.quantile(0.99) { text += ", waited \(slow)" }
        if let slow = record.spent.histogram.quantile(0.99) { text += ", took \(slow)" }
        return text
    }
}
