#if Inspector
internal import Channels
internal import Foundation
internal import HTTPTypes

/// Posts test messages.
struct Poster: Sendable {
    private let board: Switchboard
    /// The types that may be posted, by their names in snapshots.
    private let types: [String: any (Decodable & Sendable).Type]

    init(_ board: Switchboard, _ types: [any (Decodable & Sendable).Type]) {
        self.board = board
        self.types = Dictionary(types.map { ("\($0)", $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Whether messages of a channel may be posted.
    func takes(_ channel: Reading.Channel) -> Bool {
        channel.isNamed && channel.kind == "messages" && types[channel.type] != nil
    }

    /// Posts a message, given as JSON.
    ///
    /// - Returns: How many listeners were reached.
    /// - Throws: ``AccessRules/Refusal``, which says why the text is refused.
    func post(_ data: Data, to channel: Reading.Channel) throws(AccessRules.Refusal) -> Int {
        guard takes(channel), let type = types[channel.type] else {
            let reason = "Messages of this channel may not be posted: its type is not in Inspector(posting:)."
            throw AccessRules.Refusal(status: .forbidden, reason: reason)
        }
        do {
            return try post(data, of: type, to: channel.name)
        } catch let error as DecodingError {
            throw AccessRules.Refusal(status: .badRequest, reason: error.reason)
        } catch {
            throw AccessRules.Refusal(status: .conflict, reason: "\(error)")
        }
    }

    private func post<Message: Decodable & Sendable>(_ data: Data, of: Message.Type, to name: String) throws -> Int {
        let message = try JSONDecoder().decode(Message.self, from: data)
        return try board.channel(name, of: Message.self).post(message)
    }
}

extension DecodingError {
    /// One line, which says where in the text the error is.
    fileprivate var reason: String {
        let (context, what): (Context, String) =
            switch self {
            case .typeMismatch(let type, let context): (context, "\(type) expected")
            case .valueNotFound(let type, let context): (context, "\(type) expected, found null")
            case .keyNotFound(let key, let context): (context, "\"\(key.stringValue)\" is missing")
            case .dataCorrupted(let context): (context, context.debugDescription)
            @unknown default: (Context(codingPath: [], debugDescription: ""), "\(self)")
            }
        let path = context.codingPath.map { $0.intValue.map { "[\($0)]" } ?? ".\($0.stringValue)" }.joined()
        return path.isEmpty ? what : "\(what), at \(path)"
    }
}
#endif
