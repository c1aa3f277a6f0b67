#if NATS
import Channels
import Foundation

/// The permissions that the guide NATS lists: their purposes and subjects.
struct PermissionTable {
    struct Row {
        let purpose: String
        let publish: [String]
        let subscribe: [String]
    }

    let rows: [Row]

    init() throws {
        let guide = URL(filePath: #filePath).appending(
            path: "../../../../Sources/ChannelsNATS/Documentation.docc/Guides/NATS.md"
        )
        let lines = try String(contentsOf: guide.standardized, encoding: .utf8).split(separator: "\n")
        let table = lines.drop { !$0.hasPrefix("| For | Publish | Subscribe |") }.dropFirst(2).prefix {
            $0.hasPrefix("|")
        }
        rows = table.map { line in
            let cells = line.split(separator: "|", omittingEmptySubsequences: false)
            // What is between backticks.
            let subjects = cells.dropFirst(2).map { cell in
                cell.split(separator: "`", omittingEmptySubsequences: false).enumerated().filter { $0.offset % 2 == 1 }
                    .map { String($0.element) }
            }
            let purpose = cells[1].trimmingCharacters(in: .whitespaces)
            return Row(purpose: purpose, publish: subjects[0], subscribe: subjects[1])
        }
    }

    /// The rows of these purposes, and that of replies.
    func rows(_ purposes: [String]) throws -> [Row] {
        try (purposes + ["replies"]).map { purpose in
            guard let row = rows.first(where: { $0.purpose.hasPrefix(purpose) }) else {
                throw ChildProcess.Failure(description: "no row of the guide is for \(purpose)")
            }
            return row
        }
    }

    /// A user of a server with what these rows permit, and an inbox of its own.
    func user(_ name: String, _ purposes: [String]) throws -> String {
        let rows = try rows(purposes)
        func list(_ subjects: [String]) -> String {
            subjects.map { "\"\($0.replacing("_INBOX_till", with: "_INBOX_\(name)"))\"" }.joined(separator: ", ")
        }
        let responses = purposes.contains("responding") ? "allow_responses: true" : ""
        return """
            { user: \(name), password: secret, permissions: {
                publish: { allow: [\(list(rows.flatMap(\.publish)))] }
                subscribe: { allow: [\(list(rows.flatMap(\.subscribe)))] }
                \(responses)
            } }
            """
    }
}
#endif
