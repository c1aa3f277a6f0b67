import Channels
import ChannelsTesting
import Testing

/// Who posted, by which name and where, in every form.
struct PostsFormTests {
    let board = Switchboard(onFault: { _ in })
    let owner = FormListener()
    let owners = FormOwners()

    @Test(arguments: ListenForm.allCases)
    func everyFormIsToldWhoPostedByWhichNameAndWhere(_ form: ListenForm) async {
        let heard = Recorder<String>()
        let named = board[FormSources.name]
        let hear: @Sendable (Posted<Int>) -> Void = { [owner] post in
            let sender = post.sender == nil ? "nobody" : post.sender === owner ? "owner" : "stranger"
            heard.record("\(post.message) \(sender) \(post.channelName ?? "-") \(post.origin)")
        }
        let token = form.listen(to: named.posts, owners, hear)
        await named.postAndWait(1, from: owner)
        await named.postAndWait(2, from: FormListener())
        await named.postAndWait(3)
        _ = await named.channel.postAndWait(4, from: .remote("elsewhere"))
        let unnamed = Channel<Int>()
        let other = form.listen(to: unnamed.posts, owners, hear)
        await unnamed.postAndWait(5)
        let state = board.state(StateName("forms.state"), initial: 6)
        let third = form.listen(to: state.posts, owners, hear)
        #expect(
            await heard.first(6) == [
                "1 owner forms.number local", "2 stranger forms.number local", "3 nobody forms.number local",
                "4 nobody forms.number remote(\"elsewhere\")", "5 nobody - local", "6 nobody forms.state local",
            ]
        )
        withExtendedLifetime((token, other, third)) {}
    }

    @Test(arguments: ListenForm.allCases)
    func everyFormOfAPatternIsToldTheNameAndWhoPosted(_ form: ListenForm) async {
        let heard = Recorder<String>()
        let token = form.listen(to: board[matching: "forms.>"], owners) { [owner] post in
            heard.record("\(post.message) \(post.sender === owner) \(post.channelName ?? "-")")
        }
        await board[FormSources.name].postAndWait(1, from: owner)
        await board["forms.a.b" as ChannelName<String>].postAndWait("text")
        #expect(board["other" as ChannelName<Int>].post(3) == 0)
        #expect(board[Int.self].post(4) == 0)
        #expect(heard.all == ["1 true forms.number", "text false forms.a.b"])
        withExtendedLifetime(token) {}
    }

    @Test func sequencesAndNextOfPostsAndPatterns() async {
        let named = board[FormSources.name]
        let (posts, matching) = (named.posts.messages(), board[matching: ">"].messages())
        let next = Task { [owner] in await named.posts.first { $0.sender === owner } }
        await wait(for: named.listenerCount) { $0 >= 3 }
        named.post(1)
        named.post(2, from: owner)
        var (first, second) = (posts.makeAsyncIterator(), matching.makeAsyncIterator())
        #expect(await first.next()?.sender == nil)
        #expect(await first.next()?.sender === owner)
        #expect(await second.next()?.channelName == "forms.number")
        #expect(await second.next()?.message as? Int == 2)
        #expect(await next.value?.message == 2)
    }

    @Test func postsCanBeMadeForTestsOfListeners() {
        let post = Posted(1, sender: owner, channelName: "shop.sold", origin: .remote("till"))
        #expect(post.message == 1 && post.channelName == "shop.sold" && post.origin == .remote("till"))
        #expect(Posted("x").origin == .local)
    }
}
