public import Channels

/// An error that fails a test, thrown by the tools of this module.
///
/// Because it is thrown, it fails tests in both Swift Testing and XCTest. Its ``description`` begins with the file and
/// line of the call.
public struct TestFailure: Error, Sendable {
    /// What went wrong. Codes may be added in minor releases: keep a `default` when matching.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Storage: String { case missingMessages, faults, listenersLeft }
        private let storage: Storage

        /// Fewer messages arrived in time than the test expects. ``TestFailure/details`` lists those that arrived.
        public static let missingMessages = Code(storage: .missingMessages)
        /// Faults were raised while the test ran. Fix their cause.
        public static let faults = Code(storage: .faults)
        /// Listeners were still registered when the test had ended. Cancel them, or release their owners or tokens.
        public static let listenersLeft = Code(storage: .listenersLeft)

        /// The name of the code: `missingMessages`.
        public var description: String { storage.rawValue }
    }

    /// What went wrong first.
    public let code: Code
    /// The file and line of the call: `AppTests/TillTests.swift:12`.
    public let site: CallSite
    /// The messages that arrived, or the faults and the remaining listeners.
    public let details: [String]
    /// The error that the test itself threw, if there were also faults.
    public let underlyingError: (any Error)?
    private let summary: String

    /// The maximum number of messages that a description lists.
    private static let mostListed = 50

    init(
        missing count: Int,
        timeout: Duration,
        arrived: [String],
        read: Int,
        _ fileID: StaticString,
        _ line: UInt
    ) {
        code = .missingMessages
        site = CallSite(fileID: "\(fileID)", line: line)
        details = arrived
        underlyingError = nil
        var summary = "\(counted(count, "message was", "messages were")) expected within \(timeout), "
        summary += arrived.isEmpty ? "none arrived" : "\(arrived.count) arrived"
        if read > 0 { summary += ", after \(read) that had been read" }
        self.summary = summary
    }

    init(
        faults: [Fault],
        listeners: [String],
        underlyingError: (any Error)?,
        _ fileID: StaticString,
        _ line: UInt
    ) {
        code = faults.isEmpty ? .listenersLeft : .faults
        site = CallSite(fileID: "\(fileID)", line: line)
        details = faults.map(\.description) + listeners
        self.underlyingError = underlyingError
        var parts: [String] = []
        if !faults.isEmpty { parts.append("\(counted(faults.count, "fault was", "faults were")) raised") }
        if !listeners.isEmpty { parts.append("\(counted(listeners.count, "listener", "listeners")) outlived the test") }
        summary = parts.joined(separator: " and ")
    }
}

extension TestFailure: CustomStringConvertible {
    /// The file and line, what went wrong, and a line for each detail.
    public var description: String {
        var text = "\(site): \(summary)"
        if let underlyingError { text += "; the test ended with: \(underlyingError)" }
        if !details.isEmpty {
            text += ":"
            for (index, detail) in details.prefix(Self.mostListed).enumerated() { text += "\n  [\(index)] \(detail)" }
            if details.count > Self.mostListed { text += "\n  … and \(details.count - Self.mostListed) more" }
        }
        return text
    }
}

private func counted(_ count: Int, _ one: String, _ several: String) -> String {
    "\(count) \(count == 1 ? one : several)"
}
