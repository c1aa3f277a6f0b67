import Channels

nonisolated func start(_ till: Till, _ notebook: Notebook) {
    // expect: type 'Notebook' does not conform to the 'Sendable' protocol
    till.sold.listen(notebook) { me, sale in me.lines.append(sale.article) }
}
