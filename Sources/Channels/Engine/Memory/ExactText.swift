/// A text that equals another only if both have the same Unicode scalars. A key for the name of a channel or a group,
/// or for a durable name. A `String`, in contrast, also equals its canonical equivalents, such as `é` in one scalar and
/// in two.
package struct ExactText: Hashable, Sendable {
    package var text: String

    package init(_ text: String) { self.text = text }

    package static func == (left: ExactText, right: ExactText) -> Bool { left.text.hasBytes(of: right.text) }

    package func hash(into hasher: inout Hasher) {
        var copy = text
        // Lent to the hasher for the call.
        copy.withUTF8 { unsafe hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        // Marks where one text ends and the next begins.
        hasher.combine(0xFF as UInt8)
    }
}
