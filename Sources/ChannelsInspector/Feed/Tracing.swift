#if Inspector
/// Whether posts are traced while a page is open, as a visitor chose.
enum Tracing: String, Sendable, Codable {
    case on, off
}
#endif
