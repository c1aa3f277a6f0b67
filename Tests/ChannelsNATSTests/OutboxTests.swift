#if NATS
import Testing

@testable import ChannelsBridge
@testable import ChannelsNATS

/// What waits to be sent: nothing is lost, doubled or changed on the way through the buffer.
@Suite(.hangLimit)
struct OutboxTests {
    private static let samples = [
        NATSMessage(subject: "a"),
        NATSMessage(subject: "a.b", payload: [0, 1, 0, 255]),
        NATSMessage(subject: "küche.1", reply: "_INBOX.x", payload: Array("{\"total\":3}".utf8)),
        NATSMessage(
            subject: "h",
            headers: [.init(name: "ce-id", value: "1"), .init(name: "x", value: "ä b")],
            payload: [7]
        ),
        NATSMessage(subject: "h", reply: "r", headers: [.init(name: "only", value: "header: of: two")]),
        NATSMessage(subject: "large", payload: [UInt8](repeating: 9, count: 300_000)),
    ]

    @Test func messagesComeOutAsTheyWentIn() {
        var packed = PackedMessages()
        for message in Self.samples { packed.append(message) }
        #expect(packed.count == Self.samples.count)
        #expect(packed.byteCount == Self.samples.reduce(0) { $0 + PackedMessages.size(of: $1) })
        let taken = takeOut(&packed, atMost: .max)
        #expect(taken == Self.samples)
        #expect(packed.isEmpty && packed.byteCount == 0)
    }

    /// As the last of the headers.
    @Test func identifierComesOutAsAHeader() {
        let known = NATSMessage.Header(name: "ce-id", value: "1")
        for headers in [[], [known]] {
            var message = NATSMessage(subject: "a", headers: headers, payload: [1])
            message.identifier = "id"
            var packed = PackedMessages()
            packed.append(message)
            #expect(packed.byteCount == PackedMessages.size(of: message))
            let identifier = NATSMessage.Header(name: "Nats-Msg-Id", value: "id")
            let all = NATSMessage(subject: "a", headers: headers + [identifier], payload: [1])
            #expect(message.sizeForServer == all.sizeForServer)
            #expect(takeOut(&packed, atMost: .max) == [all])
        }
    }

    @Test(arguments: 0...6) func whatIsNotTakenOutStaysInOrder(_ number: Int) {
        var packed = PackedMessages()
        for message in Self.samples { packed.append(message) }
        let taken = takeOut(&packed, atMost: number)
        #expect(taken == Array(Self.samples.prefix(number)))
        #expect(packed.count == Self.samples.count - number)
        packed.append(Self.samples[0])
        let rest = takeOut(&packed, atMost: .max)
        #expect(rest == Array(Self.samples[number...]) + [Self.samples[0]])
    }

    @Test(arguments: 0...4) func whatCouldNotBeWrittenGoesInFrontOfWhatCameSince(_ written: Int) {
        var outbox = Outbox(limit: 1_000)
        for number in 0..<4 { submit(number, to: &outbox) }
        var batch = PackedMessages()
        next(&batch, of: &outbox)
        for number in 4..<6 { submit(number, to: &outbox) }
        let taken = takeOut(&batch, atMost: written)
        #expect(taken.count == written)
        if written < 4 {
            let (goesOn, lost) = outbox.putBack(&batch, since: outbox.epoch)
            #expect(!goesOn && lost == 0 && outbox.phase == .disconnected && !outbox.isIdle)
            let startsWriter = outbox.reconnect()
            #expect(startsWriter)
        }
        #expect(batch.count == 0)
        next(&batch, of: &outbox)
        let rest = takeOut(&batch, atMost: .max)
        #expect(rest.map(\.subject) == (min(written, 4)..<6).map { "n.\($0)" })
        next(&batch, of: &outbox, isThere: false)
        #expect(outbox.isIdle == true)
    }

    @Test func whatComesBackAfterTheEndIsCountedAsLost() {
        var outbox = Outbox(limit: 1_000)
        for number in 0..<3 { submit(number, to: &outbox) }
        var batch = PackedMessages()
        next(&batch, of: &outbox)
        submit(3, to: &outbox)
        let waiting = outbox.close()
        let written = takeOut(&batch, atMost: 1)
        let (goesOn, lost) = outbox.putBack(&batch, since: outbox.epoch)
        #expect(waiting == 1 && written.count == 1 && lost == 2 && !goesOn)
        #expect(batch.isEmpty && outbox.isIdle)
    }

    /// It is obsolete on the next one.
    @Test func whatIsBoundToAConnectionIsSentOnNoOther() {
        let bound = (0..<5).map { number in
            var message = NATSMessage(subject: "bound.\(number)")
            message.isBoundToConnection = true
            return message
        }
        var outbox = Outbox(limit: 1_000)
        submit(0, to: &outbox)
        let first = outbox.submit(bound[0])
        var batch = PackedMessages()
        next(&batch, of: &outbox)
        let second = outbox.submit(bound[1])
        outbox.disconnect()
        submit(1, to: &outbox)
        let third = outbox.submit(bound[2])
        #expect(first == .takenAndStartWriter || first == .taken)
        #expect(second == .taken && third == .notConnected)
        let dropped = outbox.submit(bound[3], isOverLimit: true)
        #expect(dropped == .notConnected)
        let before = outbox.epoch
        _ = outbox.reconnect()
        // The writer finds that its connection is lost only when there is another one.
        let fourth = outbox.submit(bound[4])
        #expect(fourth == .taken)
        let (goesOn, lost) = outbox.putBack(&batch, since: before)
        #expect(goesOn && lost == 0)
        next(&batch, of: &outbox)
        #expect(takeOut(&batch, atMost: .max).map(\.subject) == ["n.0", "n.1", "bound.4"])
    }

    /// Found out before the connection was lost, and submitted on the next one.
    @Test func whatIsBoundToAnEarlierConnectionIsNotTaken() {
        var outbox = Outbox(limit: 1_000)
        var message = NATSMessage(subject: "bound")
        message.isBoundToConnection = true
        message.epoch = outbox.epoch
        outbox.disconnect()
        _ = outbox.reconnect()
        let late = outbox.submit(message)
        message.epoch = outbox.epoch
        let inTime = outbox.submit(message)
        #expect(late == .notConnected && inTime != .notConnected)
    }

    /// What is being written counts until the writer comes for more.
    @Test func limitCountsWhatWaitsAndWhatIsBeingWritten() {
        let size = PackedMessages.size(of: NATSMessage(subject: "n.0"))
        var outbox = Outbox(limit: 3 * size)
        for number in 0..<2 { submit(number, to: &outbox) }
        var batch = PackedMessages()
        next(&batch, of: &outbox)
        submit(2, to: &outbox)
        submit(3, to: &outbox, expecting: .waitForSpace)
        _ = takeOut(&batch, atMost: .max)
        next(&batch, of: &outbox)
        submit(3, to: &outbox)
        outbox.disconnect()
        submit(4, to: &outbox)
        submit(5, to: &outbox, expecting: .full)
        let lost = outbox.close()
        #expect(lost == 2)
        submit(6, to: &outbox, expecting: .closed)
    }

    /// Memory that many messages needed is not kept for few.
    @Test func bytesStayInOrderHoweverTheyAreAddedAndTaken() {
        var queue = ByteQueue()
        var (next, first) = (UInt8(0), UInt8(0))
        for size in [1, 5_000, 3, 100_000, 0, 7] {
            let memory = queue.append(size)
            for offset in 0..<size {
                memory.storeBytes(of: next, toByteOffset: offset, as: UInt8.self)
                next &+= 1
            }
            let taken = queue.count / 3
            queue.removeFirst(taken)
            first &+= UInt8(truncatingIfNeeded: taken)
            let isInOrder = queue.bytes.enumerated().allSatisfy { offset, byte in
                byte == first &+ UInt8(truncatingIfNeeded: offset)
            }
            #expect(isInOrder)
        }
        let (count, capacity) = (queue.count, queue.capacity)
        #expect(count > 0 && capacity >= 100_000)
        queue.removeAll(keepingUpTo: capacity)
        let kept = queue.capacity
        queue.removeAll(keepingUpTo: 4_096)
        let (left, released) = (queue.count, queue.capacity)
        #expect(kept == capacity && left == 0 && released == 0)
    }

    private func submit(_ number: Int, to outbox: inout Outbox, expecting expected: Outbox.Submission = .taken) {
        let submission = outbox.submit(NATSMessage(subject: "n.\(number)"))
        #expect(submission == expected || submission == .takenAndStartWriter && expected == .taken)
    }

    private func next(_ batch: inout PackedMessages, of outbox: inout Outbox, isThere: Bool = true) {
        let hasBatch = outbox.nextBatch(&batch)
        #expect(hasBatch == isThere)
    }

    private func takeOut(_ packed: inout PackedMessages, atMost limit: Int) -> [NATSMessage] {
        var messages: [NATSMessage] = []
        let isEmpty = packed.takeOut { view in
            guard messages.count < limit else { return false }
            var message = NATSMessage(
                subject: String(cString: view.subject),
                reply: view.reply.map { String(cString: $0) }
            )
            view.forEachHeader { name, value in
                message.headers.append(.init(name: String(cString: name), value: String(cString: value)))
            }
            message.payload = Array(view.payload)
            messages.append(message)
            return true
        }
        #expect(isEmpty == packed.isEmpty)
        return messages
    }
}
#endif
