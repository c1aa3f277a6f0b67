/// The parts of a switchboard that bridges use.
extension Switchboard {
    /// Receives the messages posted in this process to names that match a pattern, but no states or requests.
    ///
    /// The listener comes after all others. It is asynchronous and handles one message at a time, so that `postAndWait`
    /// waits for the body and reports what it throws. The body itself raises the fault.
    ///
    /// - Parameters:
    ///   - buffering: How many messages may wait for the body.
    ///   - intake: Called on the poster's thread, in its task, with the name and the message. Its result is
    ///     passed to the body; nil skips the message. Must not run user code.
    /// - Returns: The token, which owns the listener.
    package func listenForBridge(
        matching pattern: ChannelPattern,
        buffering: BufferingPolicy,
        intake: @escaping @Sendable (String, any Sendable) -> (any Sendable)?,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (String, any Sendable) async throws -> Void
    ) -> ListenerToken {
        let options = ListenerOptions(.last, buffering: buffering, fileID, line)
        let call: AsyncListenerCall = { message, _, _ in
            let post = message.load(as: Posted<any Sendable>.self)
            do { try await body(post.channelName ?? "", post.message) } catch { throw ReportedFailure(error: error) }
        }
        var listener = Registration(nil, .async(call, .closure(nil), .queue), options, .nothing)
        listener.adaptor = Adaptor(
            nil,
            { message, _, deliver in
                let post = message.load(as: Posted<any Sendable>.self)
                guard let envelope = post.envelope, let name = envelope.channelName, envelope.process == nil,
                    let taken = intake(name, post.message)
                else { return .skipped }
                return MessageAddress.lending(Posted(taken, envelope)) { deliver($0, false) }
            },
            before: nil,
            to: MessageLayout(Posted<any Sendable>.self)
        )
        return register(listener, matching: pattern, hearing: .messages)
    }

    /// The values of named states whose name matches a pattern, including states created later. Does not include
    /// messages.
    package func states(matching pattern: ChannelPattern) -> some Listenable<Posted<any Sendable>> {
        MatchingChannels(switchboard: self, pattern: pattern, kinds: .states)
    }

    /// The named states of a type that exist now, by name.
    package func states<State: Sendable>(of type: State.Type) -> [(name: String, state: StateChannel<State>)] {
        let found = registry.channels.compactMap { slot, channel -> (name: String, state: StateChannel<State>)? in
            guard slot.kind == .state(type), let name = slot.list.name else { return nil }
            return (name, known(channel, as: StateChannel<State>.self))  // as the kind says
        }
        return found.sorted { $0.name < $1.name }
    }

    /// The state with a name, if there is one and it has that type.
    package func state<State: Sendable>(ifMade name: String, of type: State.Type) -> StateChannel<State>? {
        guard let key = try? NameKey(validating: name) else { return nil }
        let found = try? registry.channel(key, kind: .state(type))
        return found.map { known($0, as: StateChannel<State>.self) }  // as the kind says
    }

    /// Tells the task that awaits the post running on this thread that a bridge cannot take its message.
    /// - Parameter error: The error. Its fault has already been raised.
    package static func refusePost(because error: any Error, fileID: StaticString = #fileID, line: UInt = #line) {
        let post = ThreadReference.current.pointee.top
        let site = PackedSite(fileID, line).site
        post?.pointee.envelope?.tracker?.count(
            .failed(DeliveryFailure(error: error, ownerType: nil, registrationSite: site))
        )
    }

    /// Delivers a message from another process, if there are listeners.
    /// - Parameter onEnd: Called on any thread when every listener has finished with the message; the report returned
    ///   is then empty. If nil, this method suspends until they have finished.
    /// - Throws: ``ChannelError/Code/typeMismatch`` if the name is in use for another kind or type.
    package func deliver<Message: Sendable>(
        _ message: Message,
        to name: ChannelName<Message>,
        from origin: MessageOrigin,
        _ delivery: RemoteDelivery? = nil,
        onEnd: (@Sendable () -> Void)?
    ) async throws -> DeliveryReport {
        guard let channel = try channelToPost(name.key, of: Message.self) else {
            onEnd?()
            return DeliveryReport()
        }
        guard let onEnd else { return await channel.postAndWait(message, from: origin, delivery) }
        channel.post(message, from: origin, delivery, onEnd: onEnd)
        return DeliveryReport()
    }

    /// - Parameter cause: The kind of the error. Faults of each kind are counted separately.
    package func reportBridgeFault(_ cause: String, on channel: String, error: any Error) {
        faults.report(.bridgeFailed, cause: cause, .bridge, channel, error: error)
    }
}

extension StateChannel {
    /// Whether the value was ever set, here or from another process. False while it is the initial one.
    package var wasSet: Bool { core.wasSet }

    /// Stores another process's initial value, unless this state was ever set.
    /// - Returns: Whether it did.
    package func setInitial(_ value: State, from origin: MessageOrigin, isolation: isolated (any Actor)? = #isolation)
        -> Bool
    {
        // Keeps the replaced value until the end of this method, so that it is released after unlocking.
        var other = value
        defer { withExtendedLifetime(other) {} }
        let post = PostOptions(isolation: isolation, Envelope(core.list.name, origin: origin))
        // A value that is not stored must not be traced.
        guard !core.wasSet else { return false }
        var isStored = false
        _ = core.update(post, isInitial: true) { stored in
            stored.swap(with: &other)
            isStored = true
            return true
        }
        return isStored
    }

    /// Stores a value from another process.
    package func set(_ value: State, from origin: MessageOrigin, isolation: isolated (any Actor)? = #isolation) {
        store(value, PostOptions(isolation: isolation, Envelope(core.list.name, origin: origin)))
    }
}

extension ListenerPriority {
    /// The priority after every other one.
    package static let last = ListenerPriority(.min)
}
