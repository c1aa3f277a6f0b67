internal import Channels

/// How many messages and bytes all routes of a bridge together may hold in one direction.
///
/// `state` is guarded by its lock.
final class Budget: Sendable {
    fileprivate struct State {
        var messages = 0
        var bytes = 0
    }

    private let messageLimit: Int
    private let byteLimit: Int
    fileprivate let state = Locked(State())

    init(messages: Int, bytes: Int) {
        (messageLimit, byteLimit) = (messages, bytes)
    }

    var messages: Int { state.withLock { $0.messages } }
    var bytes: Int { state.withLock { $0.bytes } }

    /// Takes a part of the budget, which is given back when the charge is released.
    ///
    /// - Parameter isForced: Whether the part is taken even if not enough is left.
    /// - Returns: Nil if not enough is left. An item larger than the whole budget is accepted if the budget
    ///   is unused.
    func charge(messages: Int = 0, bytes: Int = 0, isForced: Bool = false) -> Charge? {
        let isTaken = state.withLock { take(messages, bytes, isForced, &$0) }
        return isTaken ? Charge(self, messages: messages, bytes: bytes) : nil
    }

    fileprivate func take(_ messages: Int, _ bytes: Int, _ isForced: Bool, _ state: inout State) -> Bool {
        let fits =
            (messages == 0 || state.messages == 0 || state.messages <= messageLimit - messages)
            && (bytes == 0 || state.bytes == 0 || state.bytes <= byteLimit - bytes)
        guard fits || isForced else { return false }
        state.messages += messages
        state.bytes += bytes
        return true
    }
}

/// A part of a budget. Whatever holds the message also holds its charge.
final class Charge: @unchecked Sendable {  // `bytes` is guarded by the budget's lock, except in deinit
    private let budget: Budget
    private let messages: Int
    private var bytes: Int

    fileprivate init(_ budget: Budget, messages: Int, bytes: Int) {
        (self.budget, self.messages, self.bytes) = (budget, messages, bytes)
    }

    deinit {
        budget.state.withLock { state in
            state.messages -= messages
            state.bytes -= bytes
        }
    }

    /// Takes the bytes of a message once it is encoded. Until then, the charge has none.
    ///
    /// - Parameter isForced: Whether they are taken even if not enough are left.
    /// - Returns: Whether they were taken.
    func add(bytes: Int, isForced: Bool) -> Bool {
        budget.state.withLock { state in
            let isTaken = budget.take(0, bytes, isForced, &state)
            if isTaken { self.bytes = bytes }
            return isTaken
        }
    }

    /// Gives the bytes back before the charge is released.
    func giveBackBytes() {
        budget.state.withLock { state in
            state.bytes -= bytes
            bytes = 0
        }
    }
}
