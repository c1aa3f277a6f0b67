import Channels
import Testing

@testable import ChannelsBridge

/// The messages that an in-memory broker keeps for one durable name.
@Suite(.hangLimit)
struct DurableConsumerTests {
    /// The same with plain arrays.
    private struct Model {
        struct Member {
            let connection: Int
            let limit: Int
            let byteLimit: Int
        }

        struct Delivered {
            let number: UInt64
            let delivery: Int
            let connection: Int
            let bytes: Int
            var isDelayed = false
        }

        var waiting: [(number: UInt64, deliveries: Int, bytes: Int)] = []
        var unsettled: [Delivered] = []
        var members: [Member] = []
        var turn = 0

        mutating func wait(_ number: UInt64, _ deliveries: Int, _ bytes: Int) {
            waiting.append((number, deliveries, bytes))
            waiting.sort { $0.number < $1.number }
        }

        mutating func next() -> Delivered? {
            guard let entry = waiting.first else { return nil }
            for step in 0..<members.count {
                let index = (turn + 1 + step) % members.count
                let held = unsettled.filter { $0.connection == members[index].connection && !$0.isDelayed }
                let bytes = held.reduce(0) { $0 + $1.bytes } + entry.bytes
                guard held.isEmpty || held.count < members[index].limit && bytes <= members[index].byteLimit else {
                    continue
                }
                turn = index
                waiting.removeFirst()
                let delivered = Delivered(
                    number: entry.number,
                    delivery: entry.deliveries + 1,
                    connection: members[index].connection,
                    bytes: entry.bytes
                )
                unsettled.append(delivered)
                return delivered
            }
            return nil
        }
    }

    private func message(_ size: Int) throws -> TransportMessage {
        try TransportMessage(subject: "n", body: [UInt8](repeating: 0, count: size))
    }

    @Test(arguments: Seed.first(50)) func itDeliversInOrderAndInTurnToMembersThatHaveRoom(seed: Seed) throws {
        var generator = SeededGenerator(seed: seed.number)
        var (consumer, model) = (DurableConsumer(name: "n", pattern: "n"), Model())
        let queue = HandlerQueue<InboundMessage> { _ in }
        var (lastNumber, lastConnection): (UInt64, Int) = (0, 0)
        for _ in 0..<500 {
            switch Int.random(in: 0..<18, using: &generator) {
            case 0...4:
                lastNumber += 1
                let message = try message(Int.random(in: 0..<500, using: &generator))
                consumer.add(DurableConsumer.Entry(number: lastNumber, message: message, secondsSince1970: 0))
                model.waiting.append((lastNumber, 0, message.byteCount))
            case 5...9:
                let (next, expected) = (consumer.next(), model.next())
                #expect(next?.entry.number == expected?.number && next?.entry.deliveries == expected?.delivery)
                #expect(next?.member.connection == expected?.connection)
            case 10...12:
                let held = model.unsettled.indices.filter { !model.unsettled[$0].isDelayed }
                guard let index = held.randomElement(using: &generator) else { continue }
                let found = model.unsettled[index]
                if Bool.random(using: &generator) {
                    let isEarlier = consumer.delay(found.number, delivery: found.delivery - 1)
                    let early = consumer.takeDelayed(found.number, delivery: found.delivery)
                    let isDelayed = consumer.delay(found.number, delivery: found.delivery)
                    let isDelayedAgain = consumer.delay(found.number, delivery: found.delivery)
                    let settled = consumer.takeUnsettled(found.number, delivery: found.delivery)
                    #expect(
                        isDelayed && !isEarlier && !isDelayedAgain && early?.number == nil && settled?.number == nil
                    )
                    model.unsettled[index].isDelayed = true
                    continue
                }
                // That of an earlier delivery, and of another message, changes nothing.
                let earlier = consumer.takeUnsettled(found.number, delivery: found.delivery - 1)
                let other = consumer.takeUnsettled(lastNumber + 1, delivery: 1)
                let taken = consumer.takeUnsettled(found.number, delivery: found.delivery)
                let again = consumer.takeUnsettled(found.number, delivery: found.delivery)
                #expect(earlier?.number == nil && other?.number == nil && again?.number == nil)
                let entry = try #require(taken)
                #expect(entry.number == found.number && entry.deliveries == found.delivery)
                model.unsettled.remove(at: index)
                guard Bool.random(using: &generator) else { continue }
                consumer.wait(entry)
                model.wait(found.number, found.delivery, found.bytes)
            case 13, 14:
                let delayed = model.unsettled.indices.filter { model.unsettled[$0].isDelayed }
                guard let index = delayed.randomElement(using: &generator) else { continue }
                let found = model.unsettled.remove(at: index)
                let taken = consumer.takeDelayed(found.number, delivery: found.delivery)
                let entry = try #require(taken)
                consumer.wait(entry)
                model.wait(found.number, found.delivery, found.bytes)
            case 15, 16:
                guard model.members.count < 4 else { continue }
                lastConnection += 1
                let (limit, byteLimit) = (
                    Int.random(in: 1...4, using: &generator), Int.random(in: 1...1_500, using: &generator)
                )
                consumer.join(
                    DurableConsumer.Member(
                        connection: lastConnection,
                        queue: queue,
                        room: Room(messages: limit, bytes: byteLimit)
                    )
                )
                model.members.append(Model.Member(connection: lastConnection, limit: limit, byteLimit: byteLimit))
            default:
                guard let left = model.members.randomElement(using: &generator)?.connection else { continue }
                consumer.leave(left)
                model.members.removeAll { $0.connection == left }
                for entry in model.unsettled where entry.connection == left {
                    model.wait(entry.number, entry.delivery, entry.bytes)
                }
                model.unsettled.removeAll { $0.connection == left }
            }
            #expect(consumer.count == model.waiting.count + model.unsettled.count)
        }
    }
}
