/// The place of a registration or a post in the source code.
public struct CallSite: Hashable, Sendable, CustomStringConvertible {
    /// The file, as `#fileID` names it: `Module/File.swift`.
    public let fileID: String
    /// The line, counted from 1.
    public let line: UInt

    /// Creates a site from a file and a line.
    public init(fileID: String, line: UInt) {
        self.fileID = fileID
        self.line = line
    }

    /// `Module/File.swift:12`.
    public var description: String { "\(fileID):\(line)" }
}
