import ChannelsBridgeTesting
import Foundation
import Nats
import Testing

// swift-format-ignore: AlwaysUseLowerCamelCase
func MyTransport(server: String) -> InMemoryTransport { InMemoryTransport(InMemoryBroker()) }

final class Connection: Sendable {
    init(_ onEvent: @Sendable (TransportEvent) -> Void) {}
    func report(_ event: NatsEvent) {}
}

let headers = TransportHeaders()
