internal import Synchronization

/// Counts faults by kind and place and passes them to the handler, or to standard error. A mutex guards
/// `totals`; the handler is called without it.
final class FaultReporter: Sendable {
    /// How many places are counted separately. Further ones are counted together, so that names made up at run time
    /// cannot exhaust memory.
    private static let mostPlaces = 4_096

    private let handler: FaultHandler?
    /// The instruments of the switchboard that owns this reporter.
    let instruments: Instruments?
    private let totals = Locked<[ExactText: Int]>([:])

    init(_ handler: FaultHandler?, _ instruments: Instruments? = nil) {
        self.handler = handler
        self.instruments = instruments
    }

    static let standard = FaultReporter(nil)

    static func with(_ handler: FaultHandler?) -> FaultReporter {
        handler.map { FaultReporter($0) } ?? .standard
    }

    func report(
        _ code: Fault.Code,
        list: ListenerList,
        listener: ListenerEntry?,
        count: Int? = nil,
        error: (any Error)? = nil,
        detail: Fault.Wording = .text(nil)
    ) {
        let site = listener?.site.site
        let instrument = list.instrument
        if code == .listenerThrew, let listener { list.activeInstrument?.didThrow(listener) }
        report(
            code,
            list.kind,
            instrument?.name ?? list.displayName,
            site: site,
            owner: listener?.owner.map { type(of: $0) },
            count: count,
            error: error,
            detail: detail,
            // A switchboard may watch a channel that is not its own.
            instruments ?? instrument?.instruments
        )
    }

    /// Reports that a full buffer dropped a message. The count is the buffer's own, which avoids the lock that all
    /// channels share.
    func reportDrop(_ count: Int, _ policy: BufferingPolicy, list: ListenerList, listener: ListenerEntry) {
        guard reports(count) else { return }
        report(.bufferOverflow, list: list, listener: listener, count: count, detail: .buffering(policy))
    }

    /// Returns whether to report the `count`th fault at a place: every one if there is a handler, otherwise only the
    /// 1st, 2nd, 4th, 8th and so on.
    func reports(_ count: Int) -> Bool { handler != nil || count & (count - 1) == 0 }

    /// - Parameter cause: Distinguishes faults of one code, which are then counted, and so written, separately.
    func report(
        _ code: Fault.Code,
        cause: String = "",
        _ kind: ChannelKind,
        _ channel: String,
        site: CallSite? = nil,
        owner: (any Any.Type)? = nil,
        count: Int? = nil,
        error: (any Error)? = nil,
        detail: Fault.Wording = .text(nil),
        _ instruments: Instruments? = nil
    ) {
        let count = count ?? countAnother("\(code) \(cause) \(kind)", " \(channel) \(site?.description ?? "")")
        let fault = Fault(code, kind, channel, site, owner, count, error, detail)
        let thread = ThreadReference.current
        guard !thread.pointee.isReportingFault else { return fault.write() }
        thread.pointee.isReportingFault = true
        if let handler { handler(fault) } else { fault.write() }
        for instrument in (instruments ?? self.instruments)?.all ?? [] { instrument.report(fault) }
        thread.pointee.isReportingFault = false
    }

    private func countAnother(_ kind: String, _ place: String) -> Int {
        totals.withLock { totals in
            var key = ExactText(kind + place)
            if totals.count >= Self.mostPlaces, totals[key] == nil { key = ExactText(kind) }
            let count = totals[key, default: 0] + 1
            totals[key] = count
            return count
        }
    }
}

extension Fault {
    /// Writes the 1st, 2nd, 4th, 8th … fault of its kind and place to standard error.
    package func write() {
        if count & (count - 1) == 0 { writeToStandardError("swift-channels: \(self)\n") }
    }
}
