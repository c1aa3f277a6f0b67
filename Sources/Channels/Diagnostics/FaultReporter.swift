internal import Synchronization

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// Counts faults by kind and place and hands them to the handler, or to standard error.
///
/// `totals` is guarded by its mutex; the handler is called without it.
final class FaultReporter: Sendable {
    private struct Place: Hashable {
        let code: Fault.Code
        let channel: String
        let site: RegistrationSite?
    }

    /// Places remembered; past it counting starts anew, so that names made up at run time cannot fill the memory.
    private static let mostPlaces = 4_096

    private let handler: FaultHandler?
    private let totals = Locked<[Place: Int]>([:])

    init(_ handler: FaultHandler?) {
        self.handler = handler
    }

    /// For channels that have no handler of their own: one line on standard error.
    static let standard = FaultReporter(nil)

    static func with(_ handler: FaultHandler?) -> FaultReporter {
        handler.map { FaultReporter($0) } ?? .standard
    }

    @inline(never)
    func report(
        _ code: Fault.Code,
        list: ListenerList,
        listener: ListenerEntry?,
        error: (any Error)? = nil,
        detail: String? = nil
    ) {
        report(code, channel: list.displayName, site: listener?.site.site, error: error, detail: detail)
    }

    func report(_ code: Fault.Code, channel: String, site: RegistrationSite?, error: (any Error)? = nil, detail: String? = nil) {
        let place = Place(code: code, channel: channel, site: site)
        let count = totals.withLock { totals in
            if totals.count >= Self.mostPlaces, totals[place] == nil { totals = [:] }
            totals[place, default: 0] += 1
            return totals[place]!
        }
        let fault = Fault(
            code: code,
            channelName: channel,
            registrationSite: site,
            count: count,
            underlyingError: error,
            detail: detail
        )
        let thread = ThreadRecord.current
        guard let handler, !thread.pointee.isReportingFault else {
            // The 1st, 2nd, 4th, 8th … of a kind and place.
            if count & (count - 1) == 0 { writeToStandardError("swift-channels: \(fault)\n") }
            return
        }
        thread.pointee.isReportingFault = true
        handler(fault)
        thread.pointee.isReportingFault = false
    }
}

/// Writes the whole text, without buffering.
func writeToStandardError(_ text: String) {
    var text = text
    text.withUTF8 { bytes in
        var rest = UnsafeRawBufferPointer(bytes)
        while !rest.isEmpty {
            // Not empty: there is something left to write.
            let written = write(2, rest.baseAddress!, rest.count)
            if written < 0, errno == EINTR { continue }
            guard written > 0 else { return }
            rest = UnsafeRawBufferPointer(rebasing: rest[written...])
        }
    }
}

extension ListenerList {
    /// The channel's name, or what it carries where it has none.
    var displayName: String { name ?? "Channel<\(layout.type)>" }
}

extension PostFrame {
    /// Reports what the listener being called threw.
    static func report(_ error: any Error, in frame: Pointer) {
        // The frame's caller holds the list; the list holds the listener while the post is under way.
        let list = frame.pointee.list.takeUnretainedValue()
        // The post that calls it is under way.
        let listener = frame.pointee.listener?.takeUnretainedValue()
        if frame.pointee.envelope?.tracker != nil { frame.pointee.thrown = error }
        list.faults.report(.listenerThrew, list: list, listener: listener, error: error)
    }
}
