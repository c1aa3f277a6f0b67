/// What an interceptor makes of a message.
public enum Interception<Message> {
    /// The message goes on as it is.
    case `continue`
    /// Another message goes on in its place, to the next interceptor and then to the listeners.
    case replace(Message)
    /// The message ends here: nobody hears it and `post` returns 0.
    case stop
}

extension Interception: Sendable where Message: Sendable {}
extension Interception: Equatable where Message: Equatable {}
