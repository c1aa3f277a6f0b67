import Channels
import ChannelsTesting
import Testing

/// `messages` and `next` of everything that can be listened to.
struct SequenceFormTests {
    let channel = Channel<Int>(onFault: { _ in })

    @Test(arguments: FormSources.allCases)
    func sequenceBeginsWithTheCallAndKeepsEverythingUnbounded(_ kind: FormSources) async {
        let source = kind.make()
        source.post(9...9)
        let first = kind.first.isEmpty ? [] : [9]
        let reader = source.messages(.unbounded)
        #expect(source.count() == 1)
        source.post(1...5)
        #expect(await reader.next(first.count + 5) == first + [1, 2, 3, 4, 5])
    }

    /// A state's sequence keeps the newest value, that of any other source everything.
    @Test(arguments: FormSources.allCases)
    func sourceDecidesWhatIsKeptWhereNothingIsSaid(_ kind: FormSources) async {
        let source = kind.make()
        let reader = source.messages(.automatic)
        source.post(1...5)
        let kept = kind.first.isEmpty ? [1, 2, 3, 4, 5] : [5]
        #expect(reader.droppedCount() == kind.first.count + 5 - kept.count)
        #expect(await reader.next(kept.count) == kept)
    }

    @Test(arguments: FormSources.allCases)
    func bufferBoundsWhatWaitsAndTheSequenceEndsWithItsSource(_ kind: FormSources) async {
        for (policy, kept) in kind.policies {
            let reader = { source in
                let reader = source.messages(policy)
                source.post(1...5)
                return reader
            }(kind.make())
            #expect(reader.droppedCount() == kind.first.count + 3)
            // The source has gone.
            #expect(await reader.next(3)[...] == kept)
        }
    }

    @Test(arguments: FormSources.allCases)
    func nextReturnsTheFirstMessageThatSatisfies(_ kind: FormSources) async {
        let source = kind.make()
        let task = Task { await source.first { $0 > 3 } }
        await wait(for: source.count()) { $0 > 0 }
        source.post([1, 2, 5, 9, 1])
        #expect(await task.value == 5)
        #expect(source.count() == 0)
    }

    @Test(arguments: FormSources.allCases)
    func cancelledTaskEndsNextAndAReader(_ kind: FormSources) async {
        let source = kind.make()
        let reader = source.messages(.newest(1))
        let (next, read) = (Task { await source.first { $0 > 3 } }, Task { await reader.next(kind.first.count + 1) })
        await wait(for: source.count()) { $0 >= 2 }
        next.cancel()
        read.cancel()
        #expect(await next.value == nil)
        #expect(await read.value.allSatisfy { $0 == 0 })
        let late = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await source.first { _ in true }
        }
        #expect(await late.value == nil)
        #expect(source.count() == 1)
    }

    @Test @MainActor func forAwaitAndTheOperatorsOfSequencesReadOnTheMainActor() async {
        let (view, messages) = (FormView(), channel.messages(buffering: .newest(64), priority: .high))
        for number in 1...6 { #expect(channel.post(number) == 1) }
        #expect(messages.waitingCount == 6)
        for await text in messages.filter({ $0.isMultiple(of: 2) }).map({ "\($0)" }).prefix(3) { view.hear(text) }
        #expect(view.heard == ["2", "4", "6"])
    }

    @Test func everyFormOfNextIsInferred() async {
        let state = StateChannel(3)
        #expect(await state.first() == 3)
        #expect(await state.first { $0 > 2 } == 3)
        #expect(await state.first(where: { _ in true }) == 3)
        #expect(await state.posts.first { $0.message == 3 }?.message == 3)
        #expect(state.isEmpty)
    }
}
