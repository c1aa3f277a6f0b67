public import Channels

extension BridgeRoute {
    /// Forwards requests on a name to other processes if this one has no responder.
    ///
    /// `RequestChannel.ask` throws a `ChannelError` with the code `noResponder` if no process responds, and
    /// with the code `timedOut` if no reply arrives within ``BridgeConfiguration/requestTimeout``. It throws
    /// a ``BridgeError`` if the remote responder threw, or if there is no connection. The route is a
    /// responder with the lowest priority.
    ///
    /// - Parameter errors: A type of error that is thrown here as it is if the remote responder throws it and
    ///   its route ``answering(_:errors:)`` also declares it. Use an enum for several errors. Any other error
    ///   arrives as a ``BridgeError`` with the code ``BridgeError/Code/remoteFailure`` and its description.
    public static func asking<
        Request: Codable & Sendable,
        Response: Codable & Sendable,
        Failure: Error & Codable
    >(
        _ name: RequestName<Request, Response>,
        errors: Failure.Type = Never.self
    ) -> BridgeRoute {
        BridgeRoute(.other) { context, _, options in
            AskingWorker<_, _, Failure>(name, format: context.format("\(Request.self)", options), context: context)
        }
    }

    /// Answers requests from other processes on a name with the responders of this one.
    ///
    /// Declare it only in processes that register a responder: each request goes to one of the processes with
    /// this route, even to one without a responder. If a responder throws, the description of its error is
    /// sent to the asking process.
    ///
    /// - Parameter errors: A type of error that is encoded and sent like a response, so that a process whose
    ///   route ``asking(_:errors:)`` declares it throws an equal error. Types are matched by name, without
    ///   the module.
    public static func answering<
        Request: Codable & Sendable,
        Response: Codable & Sendable,
        Failure: Error & Codable
    >(
        _ name: RequestName<Request, Response>,
        errors: Failure.Type = Never.self
    ) -> BridgeRoute {
        BridgeRoute(.other) { context, _, options in
            AnsweringWorker<_, _, Failure>(name, format: context.format("\(Request.self)", options), context: context)
        }
    }
}
