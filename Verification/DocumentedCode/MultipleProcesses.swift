import Synchronization

let tillBoard = Switchboard()
let kitchenBoard = Switchboard()
let transport = InMemoryTransport(InMemoryBroker())

extension ChannelName<Sale> { static var ordered: Self { "kitchen.ordered" } }
extension ChannelName<Sale> { static var cooking: Self { "kitchen.cooking" } }
