/// An interceptor's decision about a message.
public enum Interception<Message> {
    /// The message continues unchanged.
    case `continue`
    /// Another message continues instead, to the next interceptor and then to the listeners.
    case replace(Message)
    /// The message is not delivered, and `post` returns 0.
    case stop
}

extension Interception: Sendable where Message: Sendable {}
extension Interception: Equatable where Message: Equatable {}
