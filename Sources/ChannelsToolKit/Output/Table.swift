#if Tool
import Foundation

enum Table {
    /// Aligns rows in columns that are as wide as their widest text.
    static func text(_ rows: [[String]]) -> String {
        let rows = rows.map { $0.map(\.escaped) }
        let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            let cells = zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
            return cells.joined(separator: "  ").trimmingCharacters(in: .whitespaces)
        }.joined(separator: "\n")
    }

    /// A time in its two largest units, such as `3d 4h` or `12s`; `-` if there is none.
    static func age(_ duration: Duration?) -> String {
        guard let duration else { return "-" }
        let seconds = Int(duration / .seconds(1))
        let units = [
            ("d", seconds / 86_400), ("h", seconds / 3_600 % 24), ("m", seconds / 60 % 60), ("s", seconds % 60),
        ]
        let shown = units.drop { $0.1 == 0 }.prefix(2).filter { $0.1 > 0 }
        return shown.isEmpty ? "0s" : shown.map { "\($0.1)\($0.0)" }.joined(separator: " ")
    }
}
#endif
