#if Tool
import Channels
import ChannelsBridge
import Foundation

/// A name that channels may have.
func validName(_ text: String) throws -> String {
    do { return try ChannelName<Never>(validating: text).text } catch { throw Failure("\(error)") }
}

/// A pattern of such names.
func validPattern(_ text: String) throws -> ChannelPattern {
    do { return try ChannelPattern(validating: text) } catch { throw Failure("\(error)") }
}

/// The envelope of what this tool sends: an event of CloudEvents 1.0.
///
/// - Parameter type: Nil for the name of the channel, which every bridge takes for the type of its messages.
func envelope(on name: String, type: String?) -> EventEnvelope {
    EventEnvelope(
        id: UUID().uuidString,
        source: "channels",
        type: type ?? name,
        time: Timestamp.now.text,
        contentType: "application/json"
    )
}

/// A message of this tool.
func enveloped(_ name: String, _ json: [UInt8], type: String?) throws -> TransportMessage {
    try TransportMessage(subject: name, headers: envelope(on: name, type: type).headers, body: json)
}
#endif
