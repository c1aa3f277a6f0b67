import Channels

nonisolated func start(_ till: Till, _ display: Display) {
    till.sold.listen(display) { _, sale in print(sale) }
    // Who posted is a value: see `posts`.
    till.sold.posts.listen(display) { me, post in
        if post.sender != nil { me.show(post.message) }
    }
    till.opened.listen(display) { _, _ in print("opened") }
}
