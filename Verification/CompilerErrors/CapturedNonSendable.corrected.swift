import Channels

/// What changes belongs to the owner, and the owner to an actor.
actor Clerk {
    let notebook = Notebook()
    var count = 0

    func start(_ till: Till) {
        till.sold.listen(self) { me, sale in
            me.notebook.lines.append(sale.article)
            me.count += 1
        }
    }
}
