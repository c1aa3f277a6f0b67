internal import ChannelsBridge
internal import ChannelsTesting

extension TransportConformance {
    /// Last values.
    static let lastValueChecks: [Check] = [
        check("aWatcherGetsTheStoredValueBeforeWatchReturns", needs: .lastValues) { run in
            let storer = try await run.connected()
            _ = try await storer.store(try run.message("a", "old"))
            let revision = try await storer.store(try run.message("a", "current"))
            let watcher = try await run.connected()
            let seen = Recorder<StoredValue>()
            try await watcher.watch(run.pattern("a")) { seen.record($0) }
            run.expect(
                seen.all.last?.message.text == "current",
                "when watch returned it had \(seen.all.map(\.message.text))"
            )
            run.expect(
                seen.all.last?.revision == revision,
                "the revision is \(seen.all.last?.revision ?? 0), store said \(revision)"
            )
        },
        check("aWatcherOfNothingGetsNothingUntilSomethingIsStored", needs: .lastValues) { run in
            let transport = try await run.connected()
            let seen = Recorder<String>()
            try await transport.watch(run.pattern("a")) { seen.record($0.message.text) }
            run.expect(seen.count == 0, "it got \(seen.all)")
            _ = try await transport.store(try run.message("a", "first"))
            let values = await seen.first(1)
            run.expect(values == ["first"], "it got \(values)")
        },
        check("revisionsRiseAndTheLastValueIsSeen", needs: .lastValues) { run in
            let storers = [try await run.connected(), try await run.connected()]
            let watcher = try await run.connected()
            let seen = Recorder<StoredValue>()
            try await watcher.watch(run.pattern("a")) { seen.record($0) }
            let revisions = try await withThrowingTaskGroup(of: [UInt64].self) { group in
                for (index, storer) in storers.enumerated() {
                    group.addTask {
                        var revisions: [UInt64] = []
                        for text in numbered(50, from: index * 50) {
                            revisions.append(try await storer.store(try run.message("a", text)))
                        }
                        return revisions
                    }
                }
                return try await group.reduce(into: [[UInt64]]()) { $0.append($1) }
            }
            for own in revisions {
                run.expect(own == own.sorted() && Set(own).count == own.count, "the revisions of one storer are \(own)")
            }
            let last = revisions.flatMap { $0 }.max() ?? 0
            run.expect(Set(revisions.flatMap { $0 }).count == 100, "two values have one revision")
            let values = await seen.wait { $0.last?.revision ?? 0 >= last }
            run.expect(
                values.last?.revision == last,
                "the last revision seen is \(values.last?.revision ?? 0), stored was \(last)"
            )
            run.expect(
                zip(values, values.dropFirst()).allSatisfy { $0.revision < $1.revision },
                "the watcher saw \(values.map(\.revision))"
            )
            let late = try await run.connected()
            let latest = Recorder<StoredValue>()
            try await late.watch(run.pattern("a")) { latest.record($0) }
            run.expect(
                latest.all.last?.revision == last,
                "a late watcher has revision \(latest.all.last?.revision ?? 0), stored was \(last)"
            )
        },
        check("aValueIsStoredIfThereIsNoneAndOtherwiseItIsNot", needs: .lastValues) { run in
            let storers = [try await run.connected(), try await run.connected()]
            let watcher = try await run.connected()
            let seen = Recorder<StoredValue>()
            try await watcher.watch(run.pattern("a")) { seen.record($0) }
            let first = try await storers[0].storeIfNone(try run.message("a", "first"))
            run.expect(first != nil, "nothing was stored although there was no value")
            let second = try await storers[1].storeIfNone(try run.message("a", "second"))
            run.expect(second == nil, "a value was stored although there was one")
            let third = try await storers[1].store(try run.message("a", "third"))
            run.expect(third > first ?? 0, "the revision \(third) follows \(first ?? 0)")
            let values = await seen.wait { $0.last?.message.text == "third" }
            run.expect(!values.contains { $0.message.text == "second" }, "it saw \(values.map(\.message.text))")
        },
        check("ofThoseThatStoreIfThereIsNoValueOneDoes", needs: .lastValues) { run in
            let storers = [try await run.connected(), try await run.connected(), try await run.connected()]
            let stored = try await withThrowingTaskGroup(of: Bool.self) { group in
                for (index, storer) in storers.enumerated() {
                    group.addTask { try await storer.storeIfNone(try run.message("a", "\(index)")) != nil }
                }
                return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            run.expect(stored == 1, "\(stored) of 3 were stored")
        },
        check("subjectsHaveTheirOwnLastValues", needs: .lastValues) { run in
            let transport = try await run.connected()
            _ = try await transport.store(try run.message("a", "of a"))
            _ = try await transport.store(try run.message("b", "of b"))
            let seen = Recorder<String>()
            try await transport.watch(run.pattern("a")) { seen.record($0.message.text) }
            run.expect(seen.all == ["of a"], "a watcher of one subject got \(seen.all)")
        },
        check("aWatcherOfAPatternGetsTheStoredValueOfEachSubject", needs: .lastValues) { run in
            let storer = try await run.connected()
            for (subject, text) in [
                ("p.a", "old"), ("p.b", "1"), ("p.a", "2"), ("q.a", "3"), ("p", "4"), ("p.a.x", "5"),
            ] {
                _ = try await storer.store(try run.message(subject, text))
            }
            let watcher = try await run.connected()
            for (pattern, expected) in [
                ("p.*", ["p.a": "2", "p.b": "1"]), ("p.>", ["p.a": "2", "p.b": "1", "p.a.x": "5"]),
                ("*.a", ["p.a": "2", "q.a": "3"]), ("none.>", [:]),
            ] {
                let seen = Recorder<StoredValue>()
                try await watcher.watch(run.pattern(pattern)) { seen.record($0) }
                let expected = Dictionary(uniqueKeysWithValues: expected.map { (run.subject($0.key), $0.value) })
                let found = seen.all.map { ($0.message.subject, $0.message.text) }
                run.expect(
                    Dictionary(found) { $1 } == expected && found.count == expected.count,
                    "when watch of \(pattern) returned it had \(found)"
                )
            }
        },
        check("aWatcherOfAPatternGetsLaterValuesAlsoOfNewSubjects", needs: .lastValues) { run in
            let storer = try await run.connected()
            let watcher = try await run.connected()
            _ = try await storer.store(try run.message("p.a", "before"))
            let seen = Recorder<StoredValue>()
            let deep = Recorder<String>()
            try await watcher.watch(run.pattern("p.*")) { seen.record($0) }
            try await watcher.watch(run.pattern("p.>")) { deep.record($0.message.text) }
            for (subject, text) in [
                ("p.b", "new"), ("p", "short"), ("p.c.d", "long"), ("q.a", "other"), ("p.a", "after"),
            ] {
                _ = try await storer.store(try run.message(subject, text))
            }
            let first = try await storer.storeIfNone(try run.message("p.end", "end"))
            run.expect(first != nil, "a value of one subject was taken for that of another")
            let values = await seen.wait { $0.last?.message.text == "end" }
            run.expect(
                values.map { $0.message.text } == ["before", "new", "after", "end"]
                    && values.map { $0.message.subject } == ["p.a", "p.b", "p.a", "p.end"].map { run.subject($0) },
                "a watcher of p.* got \(values.map { "\($0.message.subject) \($0.message.text)" })"
            )
            let texts = await deep.wait { $0.last == "end" }
            run.expect(texts == ["before", "new", "long", "after", "end"], "a watcher of p.> got \(texts)")
        },
        check("aWatcherOfAPatternSeesTheLastValueOfEachSubject", needs: .lastValues) { run in
            let watcher = try await run.connected()
            let seen = Recorder<StoredValue>()
            try await watcher.watch(run.pattern("p.>")) { seen.record($0) }
            let last = try await withThrowingTaskGroup(of: (String, UInt64).self) { group in
                for index in 0..<4 {
                    let storer = try await run.connected()
                    group.addTask {
                        let subject = "p.\(index % 2).\(index)"
                        var revision: UInt64 = 0
                        for text in numbered(25) {
                            let next = try await storer.store(try run.message(subject, text))
                            run.expect(next > revision, "the revision \(next) follows \(revision)")
                            revision = next
                        }
                        return (run.subject(subject), revision)
                    }
                }
                return try await group.reduce(into: [String: UInt64]()) { $0[$1.0] = $1.1 }
            }
            @Sendable func revisions(_ values: [StoredValue]) -> [String: [UInt64]] {
                Dictionary(grouping: values, by: \.message.subject).mapValues { $0.map(\.revision) }
            }
            let values = await seen.wait { values in revisions(values).mapValues { $0.max() ?? 0 } == last }
            for (subject, revisions) in revisions(values) {
                run.expect(
                    zip(revisions, revisions.dropFirst()).allSatisfy { $0 < $1 } && revisions.last == last[subject],
                    "the revisions of \(subject) are \(revisions), the last stored is \(last[subject] ?? 0)"
                )
            }
        },
        check("storedValuesKeepTheirHeaders", needs: .lastValues) { run in
            let transport = try await run.connected()
            _ = try await transport.store(try run.message("a", "x", headers: ["ce-source": "here"]))
            let seen = Recorder<TransportHeaders>()
            try await transport.watch(run.pattern("a")) { seen.record($0.message.headers) }
            run.expect(
                seen.all.last?["ce-source"] == "here",
                "the header arrived as \(seen.all.last?["ce-source"] ?? "nothing")"
            )
        },
    ]
}
