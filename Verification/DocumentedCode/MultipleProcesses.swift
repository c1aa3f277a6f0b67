let tillBoard = Switchboard()
let kitchenBoard = Switchboard()
let transport = InMemoryTransport(InMemoryBroker())

extension ChannelName<Sale> { static var ordered: Self { "kitchen.ordered" } }
