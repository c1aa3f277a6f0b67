extension Switchboard {
    /// The messages posted to a name from now on, those of posts on the channel itself included.
    ///
    /// The sequence listens from the moment of this call, counts as a listener and keeps the name. See ``MessageSequence`` for its life.
    ///
    /// - Parameters:
    ///   - name: The name of the channel.
    ///   - buffering: How many messages may wait, and which are dropped when more come.
    ///   - priority: Where the sequence stands among the listeners.
    /// - Precondition: The name is not in use for another kind or type.
    public func messages<Message: Sendable>(
        of name: ChannelName<Message>,
        buffering: BufferingPolicy = .unbounded,
        priority: Priority = .normal,
        fileID: StaticString = #fileID,
        line: UInt = #line
    ) -> MessageSequence<Message> {
        let channel = channel(name)
        // The sequence keeps it from here on.
        defer { withExtendedLifetime(channel) {} }
        return channel.messages(buffering: buffering, priority: priority, fileID: fileID, line: line)
    }

    /// Waits for the next message of a name that satisfies a condition.
    ///
    /// Listens from the moment of the call. Does not keep the channel alive where it is removed from the switchboard.
    ///
    /// - Parameters:
    ///   - name: The name of the channel.
    ///   - isolation: The caller's. Leave it out.
    ///   - predicate: Asked on the caller's isolation, for one message after the other.
    /// - Returns: The message; nil when the channel is removed and gone, or the task is cancelled.
    /// - Precondition: The name is not in use for another kind or type.
    public func next<Message: Sendable>(
        _ name: ChannelName<Message>,
        isolation: isolated (any Actor)? = #isolation,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        where predicate: (Message) -> Bool = { _ in true }
    ) async -> Message? {
        await channel(name).next(isolation: isolation, fileID: fileID, line: line, where: predicate)
    }
}
