import Channels
import ChannelsTesting
@_exported public import TestSupport

struct Sale: Equatable, Sendable { var total: Int }

/// A limit that a test reaches only if something is wrong, however busy the machine is.
let generous = Duration.seconds(600)

/// The `TestFailure` that a body throws; nil if it throws none.
func failure(of body: () async throws -> Void) async -> TestFailure? {
    do {
        try await body()
        return nil
    } catch {
        return error as? TestFailure
    }
}

/// A listener on an actor, which runs later than the post.
actor Kitchen {
    private(set) var cooked: [Int] = []
    let recorder: Recorder<Int>

    init(_ sold: some Listenable<Sale>, _ recorder: Recorder<Int> = Recorder()) {
        self.recorder = recorder
        sold.listen(self) { me, sale in me.cook(sale) }
    }

    private func cook(_ sale: Sale) {
        cooked.append(sale.total)
        recorder.record(sale.total)
    }
}
