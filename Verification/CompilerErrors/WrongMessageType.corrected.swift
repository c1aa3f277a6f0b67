import Channels

nonisolated func sell(_ till: Till) {
    till.sold.post(Sale(article: "tea", total: 12))
}
