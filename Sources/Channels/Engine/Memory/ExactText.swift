/// A text that equals another if both have the same Unicode scalars: a name of a channel, a group or a durable
/// name, as a key. A `String` also equals its canonical equivalents: `é` in one scalar and in two.
package struct ExactText: Hashable, Sendable {
    package var text: String

    package init(_ text: String) { self.text = text }

    /// Whether both have the same bytes.
    package static func == (left: ExactText, right: ExactText) -> Bool { left.text.hasBytes(of: right.text) }

    /// Hashes the bytes.
    package func hash(into hasher: inout Hasher) {
        var copy = text
        // Lent to the hasher for the call.
        copy.withUTF8 { unsafe hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        // Where one text ends and the next begins makes a difference.
        hasher.combine(0xFF as UInt8)
    }
}
