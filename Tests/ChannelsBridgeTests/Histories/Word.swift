import Channels

/// What is said in a history.
struct Word: Codable, Hashable, Sendable {
    var text: String
}

extension ChannelName<Word> {
    static var asked: Self { "shop.asked" }
    static var hearAsked: Self { "here.asked" }
    static var done: Self { "shop.done" }
    static var hearDone: Self { "here.done" }
    static var noted: Self { "shop.noted" }
}

extension StateName<Word> {
    static var menu: Self { "shop.menu" }
}

extension RequestName<Int, Int> {
    static var twice: Self { "shop.twice" }
}
