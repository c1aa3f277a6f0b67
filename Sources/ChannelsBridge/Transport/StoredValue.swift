/// The last value of a subject.
public struct StoredValue: Sendable {
    /// The value.
    public let message: TransportMessage
    /// The revision, which increases with each value stored for the subject.
    public let revision: UInt64

    /// Creates a value, for the author of a transport.
    public init(_ message: TransportMessage, revision: UInt64) {
        self.message = message
        self.revision = revision
    }
}
