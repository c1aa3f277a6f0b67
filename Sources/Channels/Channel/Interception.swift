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

extension PostFrame {
    /// Carries out what an interceptor said.
    @inlinable
    static func apply<Message>(_ interception: Interception<Message>, to message: UnsafeMutableRawPointer, in frame: Pointer) {
        switch interception {
        case .continue: break
        // The list asks about a copy of its own, of this type.
        case .replace(let other): message.assumingMemoryBound(to: Message.self).pointee = other
        case .stop: frame.pointee.verdict = .stop
        }
    }
}
