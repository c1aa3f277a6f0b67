/// Converts a message to text without its redacted parts.
struct MessageText {
    static let mostCharacters = 1_024
    /// Values are searched for redacted parts to this depth and width.
    private static let deepest = 8
    private static let mostParts = 64

    let redacted: [ObjectIdentifier]

    func text(of message: @autoclosure () -> Any, _ type: any Any.Type) -> String {
        let text = redacted.contains(ObjectIdentifier(type)) ? hidden(type) : text(of: message())
        return text.count <= Self.mostCharacters ? text : text.prefix(Self.mostCharacters) + "…"
    }

    /// Returns the value's own description, unless a part of it is redacted.
    private func text(of value: Any) -> String {
        redacted.isEmpty || !hides(value, 0) ? String(describing: value) : parts(of: value, 0)
    }

    private func hides(_ value: Any, _ depth: Int) -> Bool {
        if redacted.contains(ObjectIdentifier(type(of: value))) { return true }
        // Hidden, because a redacted part may be nested deeper.
        guard depth < Self.deepest else { return true }
        let children = Mirror(reflecting: value).children
        return children.count > Self.mostParts || children.contains { hides($0.value, depth + 1) }
    }

    private func parts(of value: Any, _ depth: Int) -> String {
        let type = type(of: value)
        if redacted.contains(ObjectIdentifier(type)) { return hidden(type) }
        guard depth < Self.deepest else { return "…" }
        let mirror = Mirror(reflecting: value)
        guard !mirror.children.isEmpty else { return String(describing: value) }
        let parts = mirror.children.prefix(Self.mostParts).map { child in
            (child.label.map { "\($0): " } ?? "") + self.parts(of: child.value, depth + 1)
        }
        return "\(type)(\(parts.joined(separator: ", "))\(mirror.children.count > Self.mostParts ? ", …" : ""))"
    }

    private func hidden(_ type: any Any.Type) -> String { "<\(type), redacted>" }
}
