// A mistake that the compiler finds only in SIL, which it does not make of a file with other errors. See Types.swift.

import Combine

func cancelElsewhere(_ cancellable: AnyCancellable) {
    Task.detached { cancellable.cancel() }  // passing closure as a 'sending' parameter risks causing data races
}
