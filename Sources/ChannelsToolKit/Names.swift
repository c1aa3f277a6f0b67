#if Tool
import Channels
import ChannelsBridge
import Foundation

/// Returns a text that is a valid channel name, or throws.
func validName(_ text: String) throws -> String {
    do { return try ChannelName<Never>(validating: text).text } catch { throw Failure("\(error)") }
}

/// Returns the pattern for a text, or throws.
func validPattern(_ text: String) throws -> ChannelPattern {
    do { return try ChannelPattern(validating: text) } catch { throw Failure("\(error)") }
}

/// Creates the envelope of a message from this tool: an event of CloudEvents 1.0.
///
/// - Parameter type: The type of the message; nil for the name of the channel, which every bridge accepts as
///   the type of its messages.
func envelope(on name: String, type: String?) -> EventEnvelope {
    EventEnvelope(
        id: UUID().uuidString,
        source: "channels",
        type: type ?? name,
        time: Timestamp.now.text,
        contentType: "application/json"
    )
}

/// Creates a message from this tool.
func enveloped(_ name: String, _ json: [UInt8], type: String?) throws -> TransportMessage {
    try TransportMessage(subject: name, headers: envelope(on: name, type: type).headers, body: json)
}
#endif
