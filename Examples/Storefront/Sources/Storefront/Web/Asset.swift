import Foundation
import Hummingbird

/// A file of the page, from Resources/page.
struct Asset: Sendable {
    let path: String
    let response: Response

    /// The directory of the resources, next to the program.
    static var directory: URL { Bundle.module.bundleURL }

    private init(_ path: String, file: String, type: String) throws {
        self.path = path
        response = Response(
            status: .ok,
            headers: [.contentType: type, .cacheControl: "no-cache"],
            body: .init(
                byteBuffer: ByteBuffer(data: try Data(contentsOf: Self.directory.appending(path: "page/\(file)")))
            )
        )
    }

    /// All files that are served, with their content types.
    private static let files = [
        "/": ("index.html", "text/html; charset=utf-8"),
        "/style.css": ("style.css", "text/css; charset=utf-8"),
        "/page.js": ("page.js", "text/javascript; charset=utf-8"),
        "/events.js": ("events.js", "text/javascript; charset=utf-8"),
        "/till.js": ("till.js", "text/javascript; charset=utf-8"),
        "/text.js": ("text.js", "text/javascript; charset=utf-8"),
        "/icon.svg": ("icon.svg", "image/svg+xml"),
    ]

    static var paths: some Collection<String> { files.keys }

    static func all() throws -> [Asset] {
        try files.map { path, file in try Asset(path, file: file.0, type: file.1) }
    }
}
