import Channels

nonisolated func start(_ till: Till) {
    // expect: result of call to 'listen(priority:once:buffering:fileID:line:isolation:_:)' is unused
    till.sold.listen { sale in print(sale) }
}
