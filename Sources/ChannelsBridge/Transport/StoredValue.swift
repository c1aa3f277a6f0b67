/// The last value of a subject, handed over by a transport.
public struct StoredValue: Sendable {
    /// The value.
    public let message: TransportMessage
    /// Higher for each value stored for the subject.
    public let revision: UInt64

    /// Creates a value to hand over.
    public init(_ message: TransportMessage, revision: UInt64) {
        self.message = message
        self.revision = revision
    }
}
