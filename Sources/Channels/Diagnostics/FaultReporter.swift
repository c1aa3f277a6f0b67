internal import Synchronization

/// Counts faults by kind and place and passes them to the handler, or to standard error.
///
/// `totals` is guarded by its mutex; the handler is called without it.
final class FaultReporter: Sendable {
    private struct Place: Hashable {
        let code: Fault.Code
        let kind: ChannelKind
        let channel: String
        let site: RegistrationSite?
    }

    /// Places remembered; beyond it counting starts over, so that names invented at run time cannot exhaust
    /// memory.
    private static let mostPlaces = 4_096

    private let handler: FaultHandler?
    private let totals = Locked<[Place: Int]>([:])

    init(_ handler: FaultHandler?) { self.handler = handler }

    /// For channels without a handler: one line on standard error.
    static let standard = FaultReporter(nil)

    static func with(_ handler: FaultHandler?) -> FaultReporter {
        handler.map { FaultReporter($0) } ?? .standard
    }

    @inline(never)
    func report(
        _ code: Fault.Code,
        list: ListenerList,
        listener: ListenerEntry?,
        count: Int? = nil,
        error: (any Error)? = nil,
        detail: String? = nil
    ) {
        let site = listener?.site.site
        report(code, list.kind, list.displayName, site: site, count: count, error: error, detail: detail)
    }

    /// Whether anybody is told of a fault that is this often at one place: without a handler, of the 1st,
    /// 2nd, 4th …
    func hears(_ count: Int) -> Bool { handler != nil || count & (count - 1) == 0 }

    func report(
        _ code: Fault.Code,
        _ kind: ChannelKind,
        _ channel: String,
        site: RegistrationSite? = nil,
        count: Int? = nil,
        error: (any Error)? = nil,
        detail: String? = nil
    ) {
        let count = count ?? countAnother(Place(code: code, kind: kind, channel: channel, site: site))
        let fault = Fault(
            code: code,
            channelKind: kind,
            channelName: channel,
            registrationSite: site,
            count: count,
            underlyingError: error,
            detail: detail
        )
        let thread = ThreadReference.current
        guard let handler, !thread.pointee.isReportingFault else {
            // The 1st, 2nd, 4th, 8th … of a kind and place.
            if count & (count - 1) == 0 { writeToStandardError("swift-channels: \(fault)\n") }
            return
        }
        thread.pointee.isReportingFault = true
        handler(fault)
        thread.pointee.isReportingFault = false
    }

    private func countAnother(_ place: Place) -> Int {
        totals.withLock { totals in
            let isKnown = totals.count < Self.mostPlaces || totals[place] != nil
            let place = isKnown ? place : Place(code: place.code, kind: place.kind, channel: "", site: nil)
            let count = totals[place, default: 0] + 1
            totals[place] = count
            return count
        }
    }
}
