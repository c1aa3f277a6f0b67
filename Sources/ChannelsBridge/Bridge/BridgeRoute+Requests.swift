public import Channels

extension BridgeRoute {
    /// Forwards requests on a name to other processes if this one has no responder.
    ///
    /// `RequestChannel.ask` throws a `ChannelError` with the code `noResponder` if no process responds, and
    /// with the code `timedOut` if no reply arrives within ``BridgeConfiguration/requestTimeout``; a
    /// ``BridgeError`` if the remote responder threw, or there is no connection. The route counts as a
    /// responder of the lowest priority.
    public static func asking<Request: Codable & Sendable, Response: Codable & Sendable>(
        _ name: RequestName<Request, Response>
    ) -> BridgeRoute {
        BridgeRoute(.other) { context, _, options in
            AskingWorker(name, format: context.format("\(Request.self)", options), context: context)
        }
    }

    /// Answers requests from other processes on a name with the responders of this one.
    ///
    /// Declare it only in processes that register a responder: each request goes to one of the processes with
    /// this route, even to one that has no responder. If a responder throws, the description of its error is
    /// sent to the asking process.
    public static func answering<Request: Codable & Sendable, Response: Codable & Sendable>(
        _ name: RequestName<Request, Response>
    ) -> BridgeRoute {
        BridgeRoute(.other) { context, _, options in
            AnsweringWorker(name, format: context.format("\(Request.self)", options), context: context)
        }
    }
}
