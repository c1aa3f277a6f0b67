import Foundation

extension Case {
    static let threads = [
        Case(name: "two threads post at once: nothing is lost or twice", needsThreads: true) { medium in
            let count = Counter()
            let registration = medium.listen { _ in count.add() }
            onThreads(2) { _ in for number in 0..<20_000 { medium.post(number) } }
            try require(count.value == 40_000, "\(count.value) of 40000 calls")
            withExtendedLifetime(registration) {}
        },
        Case(name: "two threads post across two of them in opposite directions", needsThreads: true) { first in
            // The second is of the same kind: see `Suite`.
            let second = Suite.another()
            let count = Counter()
            let registrations = [
                first.listen { number in
                    count.add()
                    if number > 0 { second.post(number - 1) }
                },
                second.listen { number in
                    count.add()
                    if number > 0 { first.post(number - 1) }
                },
            ]
            onThreads(2) { index in for _ in 0..<10_000 { (index == 0 ? first : second).post(5) } }
            try require(count.value == 120_000, "\(count.value) of 120000 calls")
            withExtendedLifetime(registrations) {}
        },
        Case(name: "one that stays hears everything while others come and go", needsThreads: true) { medium in
            let count = Counter()
            let stays = medium.listen { _ in count.add() }
            let isOver = Counter()
            onThreads(3) { index in
                if index == 2 {
                    while isOver.value < 2 { medium.listen { _ in }.cancel() }
                } else {
                    for number in 0..<10_000 { medium.post(number) }
                    isOver.add()
                }
            }
            try require(count.value == 20_000, "\(count.value) of 20000 calls")
            withExtendedLifetime(stays) {}
        },
        Case(name: "no call begins after cancel has returned on another thread (2,000 tries)", needsThreads: true) {
            medium in
            let late = Counter()
            let isOver = Counter()
            onThreads(2) { index in
                if index == 0 {
                    while isOver.value == 0 { medium.post(1) }
                    return
                }
                for _ in 0..<2_000 {
                    let calls = Counter()
                    let isCancelled = Counter()
                    let registration = medium.listen { _ in
                        if isCancelled.value > 0 { late.add() }
                        calls.add()
                    }
                    while calls.value == 0 { sched_yield() }
                    registration.cancel()
                    isCancelled.add()
                }
                isOver.add()
            }
            try require(late.value == 0, "\(late.value) late calls")
        },
        Case(name: "cancelling while another thread is inside the listener does not hang", needsThreads: true) {
            medium in
            let entered = Counter()
            let cancelled = Counter()
            let slot = Slot()
            slot.set(
                medium.listen { _ in
                    entered.add()
                    // Ends only when the other thread has cancelled, which may not wait for this call, which
                    // waits for it.
                    while cancelled.value == 0 { sched_yield() }
                }
            )
            onThreads(2) { index in
                if index == 0 { return medium.post(1) }
                while entered.value == 0 { sched_yield() }
                slot.cancel()
                cancelled.add()
            }
        },
    ]

    static let memory = [
        Case(name: "what a cancelled listener captured is freed") { medium in
            let living = Counter()
            let registration: Registration
            do {
                let witness = Witness(living)
                registration = medium.listen { _ in withExtendedLifetime(witness) {} }
            }
            medium.post(1)
            registration.cancel()
            try require(living.value == 0, "it lives on while its token is held")
            withExtendedLifetime(registration) {}
        },
        Case(name: "letting go of 10,000 tokens ends their listeners and frees them", needsEndingWithToken: true) {
            medium in
            let living = Counter()
            let calls = Counter()
            for _ in 0..<10_000 {
                let witness = Witness(living)
                _ = medium.listen { _ in
                    calls.add()
                    withExtendedLifetime(witness) {}
                }
            }
            try require(living.value == 0, "\(living.value) live on")
            medium.post(1)
            try require(calls.value == 0, "\(calls.value) were called")
        },
    ]
}
