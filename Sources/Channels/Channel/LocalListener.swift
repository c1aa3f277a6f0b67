/// What a form of ``LocalListenable`` builds and a ``LocalChannel`` registers: a ``Listener`` whose closure
/// and owner need not be Sendable, and which therefore cannot be registered anywhere else.
@frozen
public struct LocalListener<Message> {
    @usableFromInline let listener: Listener<Message>

    @inlinable init(_ listener: Listener<Message>) { self.listener = listener }
}

@available(*, unavailable)
extension LocalListener: Sendable {}
