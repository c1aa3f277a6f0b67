import Channels

nonisolated final class Log: Sendable {
    let token: ListenerToken

    init(_ till: Till) {
        token = till.sold.listen { sale in print(sale) }
    }
}
