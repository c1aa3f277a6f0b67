#if NATS
import ChannelsBridge
import CNATS

/// A message of the C client, valid only during the call that receives it.
struct ReceivedMessage {
    private let pointer: OpaquePointer

    init(_ pointer: OpaquePointer) {
        self.pointer = pointer
    }

    /// Whether this is the server's status message that a request has no responder.
    var saysNobodyResponds: Bool { natsMsg_IsNoResponders(pointer) }

    /// Calls a body with the payload, which is valid during that call.
    func withPayload<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let count = Int(natsMsg_GetDataLength(pointer))
        return try body(UnsafeRawBufferPointer(start: natsMsg_GetData(pointer), count: max(count, 0)))
    }

    /// - Throws: ``BridgeError/Code/transportFailure`` if it cannot be read.
    func copy(ofAnswerTo subject: String) throws -> NATSMessage {
        guard let message = NATSMessage(pointer) else {
            throw BridgeError(.transportFailure, subject: subject, "the answer cannot be read")
        }
        return message
    }
}
#endif
