#if Inspector
internal import NIOCore

/// A file of the page. It is compiled into the program, so that nothing is read from disk.
struct PageFile: Sendable {
    var type: String
    var bytes: ByteBuffer

    /// The file at a path.
    static func at(_ path: some StringProtocol) -> PageFile? { files[String(path)] }

    private static let files: [String: PageFile] = [
        "/": .init("text/html; charset=utf-8", PackageResources.index_html),
        "/style.css": .init("text/css; charset=utf-8", PackageResources.style_css),
        "/icon.svg": .init("image/svg+xml", PackageResources.icon_svg),
        "/main.js": .init(script: PackageResources.main_js),
        "/feed.js": .init(script: PackageResources.feed_js),
        "/table.js": .init(script: PackageResources.table_js),
        "/graph.js": .init(script: PackageResources.graph_js),
        "/detail.js": .init(script: PackageResources.detail_js),
        "/timeline.js": .init(script: PackageResources.timeline_js),
        "/text.js": .init(script: PackageResources.text_js),
    ]

    private init(_ type: String, _ bytes: [UInt8]) {
        self.type = type
        self.bytes = ByteBuffer(bytes: bytes)
    }

    private init(script bytes: [UInt8]) { self.init("text/javascript; charset=utf-8", bytes) }
}
#endif
