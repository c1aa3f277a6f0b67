/// The kind of channel that a name stands for, with its types.
enum ChannelContent {
    case messages(any Any.Type)
    case state(any Any.Type)
    case requests(any Any.Type, any Any.Type)

    static func == (left: ChannelContent, right: ChannelContent) -> Bool {
        switch (left, right) {
        case (.messages(let left), .messages(let right)), (.state(let left), .state(let right)): left == right
        case (.requests(let left, let leftResponse), .requests(let right, let rightResponse)):
            left == right && leftResponse == rightResponse
        default: false
        }
    }

    var kind: ChannelKind {
        switch self {
        case .messages: .messages
        case .state: .state
        case .requests: .requests
        }
    }

    /// The types of what the channel carries, as snapshots show them.
    var types: String {
        switch self {
        case .messages(let type), .state(let type): "\(type)"
        case .requests(let request, let response): "\(request) -> \(response)"
        }
    }

    /// Whether the switchboard keeps such a channel until it is removed.
    var isHeld: Bool { if case .messages = self { false } else { true } }
}

extension ChannelContent: CustomStringConvertible {
    var description: String {
        switch self {
        case .messages(let type): "messages of type \(type)"
        case .state(let type): "a state of type \(type)"
        case .requests(let request, let response): "requests of type \(request) answered by \(response)"
        }
    }
}
