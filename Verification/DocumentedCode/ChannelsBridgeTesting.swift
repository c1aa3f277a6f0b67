import ChannelsBridge
import Testing

let url = "nats://127.0.0.1"

// swift-format-ignore: AlwaysUseLowerCamelCase
func MyTransport(server: String) -> InMemoryTransport { InMemoryTransport(InMemoryBroker()) }
