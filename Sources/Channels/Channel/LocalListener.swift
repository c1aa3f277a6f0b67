/// A ``Listener`` for ``LocalListenable``. Its closure and owner need not be Sendable, because only a ``LocalChannel``
/// registers it.
@frozen
public struct _LocalListener<Message> {
    @usableFromInline let listener: Listener<Message>

    @inlinable init(_ listener: Listener<Message>) { self.listener = listener }
}

@available(*, unavailable)
extension _LocalListener: Sendable {}
