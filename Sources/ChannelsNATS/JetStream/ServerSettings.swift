#if NATS
import ChannelsBridge

/// The configuration of a stream or consumer, as it is requested, or as the server reports it.
struct ServerSettings: Codable, Sendable {
    /// A value in the server's JSON.
    enum Value: Codable, Hashable, Sendable {
        case nothing, flag(Bool), number(Int64), text(String), list([Value]), members([String: Value])

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            self =
                if let flag = try? container.decode(Bool.self) {
                    .flag(flag)
                } else if let number = try? container.decode(Int64.self) {
                    .number(number)
                } else if let text = try? container.decode(String.self) {
                    .text(text)
                } else if let list = try? container.decode([Value].self) {
                    .list(list)
                } else if let members = try? container.decode([String: Value].self) {
                    .members(members)
                } else {
                    .nothing
                }
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .nothing: try container.encodeNil()
            case .flag(let flag): try container.encode(flag)
            case .number(let number): try container.encode(number)
            case .text(let text): try container.encode(text)
            case .list(let list): try container.encode(list)
            case .members(let members): try container.encode(members)
            }
        }

        /// Whether it is what the server takes a setting for that is left out.
        var isDefault: Bool {
            switch self {
            case .nothing, .flag(false), .text(""), .text("none"): true
            case .number(let number): number <= 0
            case .list(let list): list.isEmpty
            case .members(let members): members.values.allSatisfy(\.isDefault)
            case .flag, .text: false
            }
        }
    }

    var values: [String: Value]

    init(_ values: [String: Value]) { self.values = values }

    init(from decoder: any Decoder) throws { values = try decoder.singleValueContainer().decode([String: Value].self) }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(values)
    }

    func number(_ name: String) -> Int64? { if case .number(let number) = values[name] { number } else { nil } }

    /// The patterns of the subjects that a stream stores.
    var subjects: [String] {
        guard case .list(let list) = values["subjects"] else { return [] }
        return list.compactMap { if case .text(let text) = $0 { text } else { nil } }
    }

    /// Describes how the settings at the server differ from these, which the code wants.
    ///
    /// - Parameters:
    ///   - harms: What happens if a setting differs, for those with which messages would be lost, or would
    ///     not be received.
    ///   - others: Whether settings that are not among the wanted ones are compared, too.
    /// - Returns: The first harmful difference, and all others.
    func differences(
        from found: ServerSettings,
        harms: [String: String],
        others: Bool = true
    ) -> (harm: String?, harmless: [String]) {
        var (harm, harmless): (String?, [String]) = (nil, [])
        for name in Set(values.keys).union(found.values.keys).sorted() where !Self.ignored.contains(name) {
            let (theirs, ours) = (found.values[name] ?? .nothing, values[name] ?? .nothing)
            let isCompared = others || values[name] != nil || harms[name] != nil
            guard isCompared, theirs != ours, !theirs.isDefault || !ours.isDefault else { continue }
            let isLimit = if case .number = theirs.isDefault ? ours : theirs { true } else { false }
            let text = { (value: Value) in value.isDefault && isLimit ? "unlimited" : Self.text(value, of: name) }
            let difference = "is \(text(theirs)) at the server and \(text(ours)) in the code"
            if let what = harms[name] {
                harm = harm ?? "\(name) \(difference): \(what)"
            } else {
                harmless.append("\(Self.options[name] ?? name) \(difference)")
            }
        }
        return (harm, harmless)
    }

    /// The settings that say only what something is called, where it begins or how it is accessed, or that the
    /// server fills in.
    private static let ignored: Set = [
        "name", "durable_name", "description", "metadata", "deliver_policy", "opt_start_seq", "opt_start_time",
        "allow_direct", "mirror_direct", "placement", "max_waiting", "first_seq", "compression",
    ]

    /// What the settings are called in ``NATSConfiguration`` and ``NATSStream``.
    private static let options = [
        "num_replicas": "replicas", "max_age": "limits.age", "max_bytes": "limits.bytes", "max_msgs": "limits.messages",
        "duplicate_window": "duplicateWindow", "ack_wait": "acknowledgementWait", "max_ack_pending": "pendingLimit",
    ]

    private static let times: Set = ["max_age", "duplicate_window", "ack_wait", "inactive_threshold", "max_expires"]

    private static func text(_ value: Value, of name: String) -> String {
        switch value {
        case .nothing: "not set"
        case .flag(let flag): "\(flag)"
        case .number(let number): times.contains(name) ? "\(Duration.nanoseconds(number))" : "\(number)"
        case .text(let text): text.isEmpty ? "not set" : text
        case .list(let list): list.map { self.text($0, of: name) }.sorted().joined(separator: ", ")
        case .members(let members):
            members.sorted { $0.key < $1.key }.map { "\($0.key): \(self.text($0.value, of: name))" }
                .joined(separator: ", ")
        }
    }
}

extension NATSStream {
    /// The settings with which the stream is created.
    ///
    /// Rollups are not permitted, even for a bucket, although other clients permit them there: a client that
    /// may set one state could remove all others with a header.
    var settings: ServerSettings {
        let age = limits.age?.nanoseconds ?? 0
        // The server refuses a window longer than the maximum age.
        let window = age > 0 ? min(duplicateWindow.nanoseconds, age) : duplicateWindow.nanoseconds
        return ServerSettings([
            "name": .text(name),
            "subjects": .list(subjects.sorted().map { .text($0) }),
            "storage": .text(storage == .file ? "file" : "memory"),
            "num_replicas": .number(Int64(replicas)),
            "retention": .text(retention == .interest ? "interest" : "limits"),
            // A full stream refuses new messages instead of discarding acknowledged ones.
            "discard": .text("new"),
            "max_age": .number(age),
            "max_bytes": .number(Int64(limits.bytes ?? -1)),
            "max_msgs": .number(Int64(limits.messages ?? -1)),
            "max_msgs_per_subject": .number(keepsLastValues ? 1 : -1),
            "duplicate_window": .number(window),
            "allow_direct": .flag(true),
        ])
    }

    /// What happens with the settings of a stream with which it cannot be used.
    static let harms = [
        "subject_transform": "what is published would be stored on another subject, and nobody would receive it",
        "no_ack": "nobody would know what is stored",
        "mirror": "it would not store what is published",
        "allow_msg_counter": "it stores only numbers",
    ]

    /// Describes the settings that differ at the server and do no harm.
    func differences(from found: ServerSettings) -> [String] {
        // For a bucket, the server or other programs may choose the other settings. Its age is compared, because
        // a value that expires is set again by the next process that joins.
        var (wanted, found) = (settings, found)
        if keepsLastValues { wanted.values = wanted.values.filter { ["num_replicas", "max_age"].contains($0.key) } }
        found.values["subjects"] = .list(found.subjects.sorted().map { .text($0) })
        return wanted.differences(from: found, harms: Self.harms, others: !keepsLastValues).harmless
    }
}
#endif
