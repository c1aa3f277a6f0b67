public import Channels

extension BridgeRoute {
    /// Has another process answer what is asked here on a name and nobody here responds to.
    ///
    /// `RequestChannel.ask` throws `ChannelError.noResponder` where nobody responds anywhere, and a
    /// ``BridgeError`` where no reply comes in time, the other side's responder threw, or there is no
    /// connection. Counts as a responder of the lowest priority.
    public static func asking<Request: Codable & Sendable, Response: Codable & Sendable>(
        _ name: RequestName<Request, Response>
    ) -> BridgeRoute {
        BridgeRoute(parts: [Part(kind: .other, pattern: nil) { context, _ in AskingWorker(name, context: context) }])
    }

    /// Answers what other processes ask on a name by whoever responds here.
    ///
    /// To be declared where somebody responds: of several processes with this route, one gets each request,
    /// and says so if nobody responds. What a responder throws is described to the asker, so it leaves this
    /// process.
    public static func answering<Request: Codable & Sendable, Response: Codable & Sendable>(
        _ name: RequestName<Request, Response>
    ) -> BridgeRoute {
        BridgeRoute(parts: [Part(kind: .other, pattern: nil) { context, _ in AnsweringWorker(name, context: context) }])
    }
}
