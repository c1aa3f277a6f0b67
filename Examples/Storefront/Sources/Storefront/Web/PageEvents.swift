import Channels
import Foundation
import HTTPTypes
import Hummingbird
import ServiceLifecycle
import Synchronization

/// Sends the office to the open pages, as server-sent events.
///
/// Each page receives the state at once, and then every change. No change is left out silently or sent twice.
/// A page that reads slowly is told how many changes it missed and receives the newest state; it slows nobody
/// down.
final class PageEvents: Service {
    /// A version of the office, with the texts that all pages share.
    private struct Rendered: Sendable {
        var office = Office()
        /// The changes from each earlier version to the next, oldest first. There are none for the time when
        /// no page was open.
        var changes: [String] = []
        /// Keeps counting while nothing changes, so that closed pages are noticed.
        var beats = 0

        mutating func add(_ change: String, to office: Office) {
            // If a version is missing, pages with an older one receive the whole office.
            if office.version != self.office.version + 1 { changes = [] }
            self.office = office
            changes.append(change)
            if changes.count > PageEvents.changesAtMost { changes.removeFirst() }
        }
    }

    static let pagesAtMost = 32
    /// How many changes a page may be behind and still receive each of them.
    private static let changesAtMost = 256

    private let rendered = StateChannel(Rendered())
    /// Identifies this run of the program, because other runs use the same numbers for their versions.
    private let run = String(UInt64.random(in: 1 ... .max), radix: 36)
    private let seats = Seats(pagesAtMost)

    init(_ office: StateChannel<Office>) {
        rendered.set(Rendered(office: office.value))
        // The closure is async, so that it does not run on the thread that changes the office.
        office.listen(self, buffering: .newest(Self.changesAtMost)) { me, office async in me.render(office) }
    }

    /// Keeps the connections alive.
    func run() async throws {
        while !Task.isEnding {
            try? await cancelWhenGracefulShutdown { try await Task.sleep(for: .seconds(5)) }
            rendered.update { $0.beats += 1 }
        }
    }

    private func render(_ office: Office) {
        guard !rendered.isEmpty else { return rendered.set(Rendered(office: office)) }
        var change = office
        let last = rendered.value.office.recent.first?.number ?? 0
        change.recent.removeAll { $0.number <= last }
        let text = text("change", change)
        rendered.update { $0.add(text, to: office) }
    }

    /// Returns the text of an event about the office.
    private func text(_ event: String, _ office: Office) -> String {
        // Encoding cannot fail, because JSON can represent every value of this type.
        let json = (try? JSONEncoder.sorted.encode(office)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
        return "id: \(run).\(office.version)\nevent: \(event)\ndata: \(json)\n\n"
    }

    /// Returns what to send to a page that has seen a version or none: the changes since, or the whole office
    /// if there are too many.
    private func text(_ rendered: Rendered, after last: inout Int?) -> String {
        let version = rendered.office.version
        guard version != last else { return ": still here\n\n" }
        let behind = version - (last ?? version)
        last = version
        if behind > 0, behind <= rendered.changes.count { return rendered.changes.suffix(behind).joined() }
        let missed = behind - 1
        return (missed > 0 ? "event: missed\ndata: \(missed)\n\n" : "") + text("office", rendered.office)
    }

    func response(to request: Request) throws -> Response {
        guard let seat = seats.take() else {
            throw HTTPError(
                .serviceUnavailable,
                headers: [.retryAfter: "5"],
                message: "\(Self.pagesAtMost) pages are open; close one"
            )
        }
        // The version that the page has seen, if it was connected to this run before.
        let last = request.headers[.lastEventID].flatMap { version(in: $0) }
        // Only the newest value is buffered, because it contains the changes for a page that is a little
        // behind.
        let versions = rendered.messages()
        return Response(
            status: .ok,
            headers: [.contentType: "text/event-stream", .cacheControl: "no-store"],
            body: .init { writer in
                try await request.body.consumeWithCancellationOnInboundClose { _ in
                    var last = last
                    try await writer.write("retry: 1000\n\n")
                    for await version in versions.cancelOnGracefulShutdown() {
                        try await writer.write(self.text(version, after: &last))
                        // Nobody sees more than fifty pictures a second, so changes in between are sent
                        // together.
                        try await Task.sleep(for: .milliseconds(20))
                    }
                }
                withExtendedLifetime(seat) {}
                try await writer.finish(nil)
            }
        )
    }

    /// Returns the version in an event id of this run; nil for any other.
    private func version(in id: String) -> Int? {
        let parts = id.split(separator: ".")
        guard parts.count == 2, parts[0] == run, let version = Int(parts[1]), version >= 0 else { return nil }
        return version
    }
}

extension HTTPField.Name {
    fileprivate static var lastEventID: Self { .init("Last-Event-ID")! }  // it is a token
}

extension ResponseBodyWriter {
    fileprivate mutating func write(_ text: String) async throws { try await write(ByteBuffer(string: text)) }
}

/// A limited number of seats. A seat is free again once it is released.
private final class Seats: Sendable {
    final class Seat: Sendable {
        private let seats: Seats

        fileprivate init(_ seats: Seats) { self.seats = seats }

        deinit { seats.taken.withLock { $0 -= 1 } }
    }

    private let count: Int
    private let taken = Mutex(0)

    init(_ count: Int) { self.count = count }

    func take() -> Seat? {
        let isFree = taken.withLock { taken in
            guard taken < count else { return false }
            taken += 1
            return true
        }
        return isFree ? Seat(self) : nil
    }
}
