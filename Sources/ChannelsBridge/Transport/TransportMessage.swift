internal import Channels

/// A message to or from a broker: a subject, headers and bytes.
///
/// It is valid by construction, so no transport has to validate it again. The subject is a valid channel
/// name, without white space, control characters or wildcards, so `"x 0\r\n\r\nPUB admin"` cannot be one. The
/// headers are valid as well.
public struct TransportMessage: Hashable, Sendable {
    private let key: ExactText
    /// The subject it is published to: the name of the channel.
    public var subject: String { key.text }
    /// The headers; empty if the transport has none.
    public var headers: TransportHeaders
    /// The encoded message.
    public var body: [UInt8]

    /// The bytes that count towards limits of memory, such as ``TransportSubscription/prefetchByteLimit``: those of
    /// the subject, the headers and the body.
    /// - Complexity: O(*n*) in the number of headers.
    public var byteCount: Int { subject.utf8.count + headers.byteCount + body.count }

    /// Creates a message.
    ///
    /// - Throws: ``BridgeError/Code/invalidName`` if the subject is not a valid channel name.
    public init(subject: String, headers: TransportHeaders = [:], body: [UInt8]) throws {
        do {
            // The rules for names do not depend on the type.
            self.init(valid: try ChannelName<Never>(validating: subject).text, headers: headers, body: body)
        } catch {
            throw BridgeError(.invalidName, subject: subject, underlyingError: error)
        }
    }

    /// Creates a message whose subject is known to be the text of a channel name.
    package init(valid subject: String, headers: TransportHeaders, body: [UInt8]) {
        key = ExactText(subject)
        self.headers = headers
        self.body = body
    }
}

extension TransportMessage: CustomStringConvertible {
    /// One line: the subject, the number of headers, and the body, as text if it is text.
    public var description: String {
        "\(quoted(subject)), \(counted(headers.count, "header")), \(body.described)"
    }
}

extension [UInt8] {
    private static let mostShown = 200

    /// A body in a log: its size and, if it is text, the text, truncated if it is long.
    var described: String {
        let size = counted(count, "byte")
        guard let text = String(validating: self, as: UTF8.self)?.unicodeScalars, !text.isEmpty,
            text.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F || ["\n", "\r", "\t"].contains($0) })
        else { return size }
        return "\(size): \(onOneLine(String(text.prefix(Self.mostShown))))\(text.count > Self.mostShown ? "…" : "")"
    }
}
