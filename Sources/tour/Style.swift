#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#endif

/// Colors text for terminals only. Output to a file or a pipe is plain text.
enum Style {
    /// Whether standard output is a terminal that shows colors. A `NO_COLOR` that is not empty switches them
    /// off.
    private static let isColoured = isatty(1) != 0 && value("NO_COLOR").isEmpty && value("TERM") != "dumb"

    static func name(_ text: String) -> String { isColoured ? "\u{1B}[36m\(text)\u{1B}[0m" : text }

    static func heading(_ text: String) -> String { isColoured ? "\u{1B}[1m\(text)\u{1B}[0m" : text }

    private static func value(_ variable: String) -> String { getenv(variable).map { String(cString: $0) } ?? "" }
}
