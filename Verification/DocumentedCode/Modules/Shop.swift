// The shop that the snippets of the documentation take for granted.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

public import Channels

public struct Sale: Sendable, Codable, Equatable {
    public var dish: String
    public var total: Int
    public init(dish: String = "", total: Int) {
        self.dish = dish
        self.total = total
    }
}

public struct Checkout: Sendable, Codable {
    public var total: Int
    public init(total: Int = 0) { self.total = total }
}

public struct Sales: Sendable, Codable, Equatable {
    public var total = 0
    public init() {}
}

public let soup = Sale(dish: "soup", total: 4)
public let tea = Sale(dish: "tea", total: 2)
public let cake = Sale(dish: "cake", total: 3)

public final class Till: Sendable {
    public let sold = Channel<Sale>()
    public init() {}
    public func sell(_ sale: Sale) { sold.post(sale) }
}

@MainActor public final class Display {
    public var total = 0
    public nonisolated init() {}
    public init(_ till: Till) {}
    public func show(_ sale: Sale) {}
    public func show(_ total: Int) {}
    public func hide() {}
}

public final class Screen: Sendable {
    public init() {}
    public func show(_ sale: Sale) {}
}

public actor Kitchen {
    public init() {}
    public func cook(_ sale: Sale) {}
    public func deliver(_ sale: Sale) async throws {}
}

public func archive(_ sale: Sale) async {}

public let till = Till()
public let display = Display()
public let board = Switchboard()
public let sales = StateChannel(Sales())
