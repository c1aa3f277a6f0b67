let transport = InMemoryTransport(InMemoryBroker())
