/// The instruments of a switchboard, in the order added. A mutex guards them; they are called without it.
package final class Instruments: Sendable {
    private struct Guarded {
        var all: [(id: Int, instrument: any ChannelInstrument)] = []
        var lastID = 0
    }

    private let guarded = Locked(Guarded())

    package var all: [any ChannelInstrument] { guarded.withLock { $0.all.map(\.instrument) } }

    func add(_ instrument: any ChannelInstrument) -> Int {
        guarded.withLock { guarded in
            guarded.lastID += 1
            guarded.all.append((guarded.lastID, instrument))
            return guarded.lastID
        }
    }

    func remove(_ id: Int) {
        // Released after unlocking.
        let removed = guarded.withLock { guarded in
            guarded.all.firstIndex { $0.id == id }.map { guarded.all.remove(at: $0) }
        }
        withExtendedLifetime(removed) {}
    }
}
