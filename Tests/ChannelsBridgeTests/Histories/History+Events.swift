import Channels
import ChannelsBridge
import TestSupport

extension History {
    /// Whether a message fails whenever it is heard, until the cause is mended. Where the broker keeps few
    /// messages, none fails: it has no room for letters, without which nothing comes to rest.
    func isPoison(_ text: String) -> Bool {
        !isMended && !plan.isSmall && text.utf8.reduce(0) { $0 &+ Int($1) } % 9 == 0
    }

    /// Plays the whole history.
    func play() async {
        if plan.hasRelay {
            await office.open()
            forwarder = Forwarder(self)
            // What is stored before a name is known may be gone before it is.
            await rest()
        }
        for place in 0..<number(2...3) { processes.append(Process(self, place)) }
        for part in 0..<2 {
            isCalm = false
            for _ in 0..<number(10...40) {
                await event()
                await turns(upTo: 8)
            }
            // In one of the two parts, the letters are put back once their cause is mended.
            isMended = part == 1
            await settle()
            if isMended {
                putBack()
                await settle()
            }
            await compare()
        }
        await end()
    }

    /// One step, of a kind that the seed chooses.
    private func event() async {
        let process = processes.randomElement(using: &random)!
        if let forwarder, chance(8) { return await disturb(forwarder) }
        switch number(0...99) {
        case 0..<30: post(process)
        case 30..<36: process.set()
        case 36..<40: process.ask()
        case 40..<58: step()
        case 58..<64: process.wire.breakOff()
        case 64..<72: for process in processes { process.wire.restore() }
        case 72..<75: process.wire.waitTooLong()
        case 75..<79: await process.kill()
        case 79..<82: process.end()
        case 82..<90: startAgain()
        case 90..<92: isUnreachable.toggle()
        case 92..<95: process.toggleObserver()
        case 95..<98: putBack()
        default: dropLetter()
        }
    }

    private func disturb(_ forwarder: Forwarder) async {
        switch number(0...9) {
        case 0: await forwarder.kill()
        case 1: forwarder.end()
        case 2: forwarder.wires[0].waitTooLong()
        case 3: office.toggle()
        case 4, 5: for wire in forwarder.wires { wire.restore() }
        default: forwarder.wires.randomElement(using: &random)!.breakOff()
        }
    }

    private func post(_ process: Process) {
        for _ in 0..<number(1...4) {
            let isPlain = plan.hasPlain && chance(4)
            process.post(to: isPlain ? .noted : chance(4) ? .done : .asked, waits: chance(3))
        }
    }

    /// Time passes: until the next task wakes, or for a while.
    private func step() {
        let next = clock.next.map { clock.now.duration(to: $0) } ?? .zero
        clock.advance(by: chance(3) ? .milliseconds(number(1...20_000)) : max(next, .zero))
    }

    private func startAgain() {
        for place in processes.indices where processes[place].isOver {
            if processes[place].hasEnded, chance(2) {
                processes[place].startAgain()
            } else {
                processes[place] = Process(self, place)
            }
        }
        if forwarder?.isOver == true { forwarder = Forwarder(self) }
    }

    private func putBack() {
        note("the letters are put back")
        withTool { box, wire in _ = try await box.putBack(over: wire) }
    }

    private func dropLetter() {
        withTool { [self] box, wire in
            guard let letter = try await box.letters(over: wire).first else { return }
            let text = Self.text(of: letter.message)
            note("a letter of \(text) is dropped")
            messages[text]?.isDropped = true
            _ = try await box.drop(letter.id, over: Wire(self, "tool"))
        }
    }

    /// Only one tool is used at a time.
    private func withTool(_ body: @escaping @Sendable (DeadLetterBox, Wire) async throws -> Void) {
        guard !isUsingTool, !isUnreachable else { return }
        isUsingTool = true
        pending += 1
        let configuration = BridgeConfiguration(clock: clock)
        Task { [self] in
            do { try await body(DeadLetterBox("dead", configuration: configuration), Wire(self, "tool")) } catch {
                note("the tool: \(error)")
            }
            isUsingTool = false
            pending -= 1
        }
    }

    // MARK: Looking at the end of it

    /// Mends what is broken, and lets the processes run until nothing is left to be done.
    func settle() async {
        note("settle")
        (isCalm, isUnreachable) = (true, false)
        office.hold(false)
        for _ in 0..<1_000 {
            for process in processes { process.wire.restore() }
            for wire in forwarder?.wires ?? [] { wire.restore() }
            await rest()
            startAgain()
            await rest()
            if await isAtRest() { return }
            step()
        }
        let states = processes.map {
            "\n\($0.label) \($0.bridge.status.value) \($0.bridge.statistics) \($0.wire.state)"
        }
        fail("something waits for ever: \(pending) pending\(states.joined())")
    }

    private func isAtRest() async -> Bool {
        guard pending == 0, processes.allSatisfy(\.isAtRest) else { return false }
        for (name, pattern) in Self.names where await waiting(name, pattern) > 0 { return false }
        guard let forwarder else { return true }
        guard forwarder.isAtRest else { return false }
        return await waiting("relay", "shop.>") == 0
    }

    /// All processes end gracefully, and nothing of them is left.
    func end() async {
        for process in processes { process.end() }
        forwarder?.end()
        await office.close()
        for _ in 0..<200 where !former.allSatisfy(\.isOver) || forwarder?.isOver == false || clock.next != nil {
            await rest()
            step()
        }
        await rest()
        for process in former where !process.isOver { fail("\(process.label) does not end") }
        if forwarder?.isOver == false { fail("the relay does not end") }
    }
}
