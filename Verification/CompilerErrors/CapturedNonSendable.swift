import Channels

nonisolated func start(_ till: Till, _ display: Display, _ notebook: Notebook) {
    // expect: capture of 'notebook' with non-Sendable type 'Notebook' in a '@Sendable' closure
    till.sold.listen(display) { me, sale in notebook.lines.append(sale.article) }
}

nonisolated func count(_ till: Till, _ display: Display) {
    var count = 0
    // expect: mutation of captured var 'count' in concurrently-executing code
    till.sold.listen(display) { me, sale in count += 1 }
}
