#if Inspector
internal import Channels
internal import Foundation
internal import HTTPTypes

/// A type of message that may be posted from the page.
struct PostableType: Sendable {
    /// As snapshots name it.
    let name: String
    private let decodeAndPost: @Sendable (Data, String, Switchboard) throws -> Int

    init<Message: Decodable & Sendable>(_ type: Message.Type) {
        name = "\(type)"
        decodeAndPost = { data, channel, board in
            let message = try JSONDecoder().decode(Message.self, from: data)
            return try board.channel(channel, of: Message.self).post(message)
        }
    }

    /// Posts to the channel of a name, if that is one of this type.
    ///
    /// - Returns: How many listeners were reached.
    /// - Throws: `DecodingError`, or `ChannelError`.
    func post(_ data: Data, to channel: String, on board: Switchboard) throws -> Int {
        try decodeAndPost(data, channel, board)
    }
}

/// Posts test messages.
struct Poster: Sendable {
    private let board: Switchboard
    private let types: [String: PostableType]

    init(_ board: Switchboard, _ types: [PostableType]) {
        self.board = board
        self.types = Dictionary(types.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Whether messages of a channel may be posted.
    func takes(_ channel: Reading.Channel) -> Bool {
        channel.isNamed && channel.kind == "messages" && types[channel.type] != nil
    }

    /// Posts a message, given as JSON.
    ///
    /// - Throws: ``AccessRules/Refusal``, with what is wrong with the text.
    func post(_ data: Data, to channel: Reading.Channel) throws(AccessRules.Refusal) -> Int {
        guard takes(channel), let type = types[channel.type] else {
            let reason = "Messages of this channel may not be posted: its type is not in Inspector(posting:)."
            throw AccessRules.Refusal(status: .forbidden, reason: reason)
        }
        do {
            return try type.post(data, to: channel.name, on: board)
        } catch let error as DecodingError {
            throw AccessRules.Refusal(status: .badRequest, reason: error.reason)
        } catch {
            throw AccessRules.Refusal(status: .conflict, reason: "\(error)")
        }
    }
}

extension DecodingError {
    /// One line, with where in the text.
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
