import Channels
import Dispatch
import Synchronization

/// A generator whose numbers are the same for the same seed (SplitMix64).
struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    init(seed: Int) { state = UInt64(bitPattern: Int64(seed)) &* 0x9E37_79B9_7F4A_7C15 &+ 1 }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// Acts when the last reference to it is released. Captured by closures, and held by messages, owners and senders.
final class Probe: Sendable {
    private let world: World

    init(_ world: World) {
        self.world = world
        World.probes.add(1, ordering: .relaxed)
    }

    deinit {
        world.act()
        World.probes.subtract(1, ordering: .relaxed)
    }
}

/// A message whose `==` and whose end are user code.
struct Message: Sendable, Equatable {
    let probe: Probe

    init(_ world: World) { probe = Probe(world) }

    static func == (left: Message, right: Message) -> Bool {
        World.act()
        return left.probe === right.probe
    }
}

protocol Observer: AnyObject, Sendable { func happened() }

/// Owns listeners, sends and observes.
final class Owner: Observer {
    private let probe: Probe

    init(_ world: World) { probe = Probe(world) }

    func happened() { World.act() }
}

struct Instrument: ChannelInstrument {
    let world: World

    func post(_ post: PostEvent, _ deliver: (_ context: (any Sendable)?) -> Void) {
        world.act()
        deliver(Probe(world))
        world.act()
    }

    func deliver(_ delivery: DeliveryEvent, _ call: () -> Void) {
        world.act()
        call()
        world.act()
    }

    func report(_ fault: Fault) { world.act() }
}
