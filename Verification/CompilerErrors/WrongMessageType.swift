import Channels

nonisolated func sell(_ till: Till) {
    // expect: cannot convert value of type 'Int' to expected argument type 'Sale'
    till.sold.post(12)
}
