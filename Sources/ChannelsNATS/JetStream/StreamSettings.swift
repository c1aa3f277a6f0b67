#if NATS
import ChannelsBridge

/// The settings of a stream, as they are requested, or as the server reports them. In a report, some may be
/// missing.
///
/// Rollups are not permitted, even for a bucket, although other clients permit them there: a client that may
/// set one state could remove all others with a header.
struct StreamSettings: Codable {
    var name: String?
    var subjects: [String]?
    var storage: String?
    var numReplicas: Int?
    var retention: String?
    var discard: String?
    var maxAge: Int64?
    var maxBytes: Int64?
    var maxMsgs: Int64?
    var maxMsgsPerSubject: Int64?
    var duplicateWindow: Int64?
    var allowDirect: Bool? = true

    init(_ stream: NATSStream) {
        name = stream.name
        subjects = stream.subjects
        storage = stream.storage == .file ? "file" : "memory"
        retention = stream.retention == .interest ? "interest" : "limits"
        numReplicas = stream.replicas
        let age = stream.limits.age?.nanoseconds ?? 0
        maxAge = age
        maxBytes = Int64(stream.limits.bytes ?? -1)
        maxMsgs = Int64(stream.limits.messages ?? -1)
        maxMsgsPerSubject = stream.keepsLastValues ? 1 : -1
        // A full stream refuses new messages instead of discarding acknowledged ones.
        discard = "new"
        // The server refuses a window longer than the maximum age.
        let window = stream.duplicateWindow.nanoseconds
        duplicateWindow = age > 0 ? min(window, age) : window
    }
}

/// Describes how settings at the server differ from those in the code.
struct SettingDifferences {
    private(set) var texts: [String] = []

    mutating func compare<Value: Equatable>(
        _ name: String,
        _ found: Value?,
        _ wanted: Value?,
        _ text: (Value) -> String = { "\($0)" }
    ) {
        guard let found, let wanted, found != wanted else { return }
        texts.append("\(name) is \(text(found)) at the server and \(text(wanted)) in the code")
    }

    static func limit(_ number: some BinaryInteger) -> String { number <= 0 ? "unlimited" : "\(number)" }

    static func time(_ nanoseconds: Int64) -> String {
        nanoseconds <= 0 ? "unlimited" : "\(Duration.nanoseconds(nanoseconds))"
    }
}

extension NATSStream {
    /// Describes the settings that differ at the server. Settings that the server does not report are left
    /// out.
    func differences(from found: StreamSettings?) -> [String] {
        guard let found else { return [] }
        let wanted = StreamSettings(self)
        var differences = SettingDifferences()
        differences.compare("subjects", found.subjects?.sorted(), wanted.subjects?.sorted()) {
            $0.joined(separator: ", ")
        }
        differences.compare("replicas", found.numReplicas, wanted.numReplicas)
        // Compared even for a bucket, because a value that expires is set again by the next process that
        // joins.
        differences.compare("limits.age", found.maxAge, wanted.maxAge, SettingDifferences.time)
        // For a bucket, the server or other programs may choose the other settings.
        if keepsLastValues { return differences.texts }
        differences.compare("storage", found.storage, wanted.storage)
        differences.compare("retention", found.retention, wanted.retention)
        differences.compare("what a full stream discards", found.discard, wanted.discard)
        differences.compare(
            "limits.bytes",
            found.maxBytes.map { max($0, -1) },
            wanted.maxBytes,
            SettingDifferences.limit
        )
        differences.compare(
            "limits.messages",
            found.maxMsgs.map { max($0, -1) },
            wanted.maxMsgs,
            SettingDifferences.limit
        )
        differences.compare("duplicateWindow", found.duplicateWindow, wanted.duplicateWindow, SettingDifferences.time)
        return differences.texts
    }
}
#endif
