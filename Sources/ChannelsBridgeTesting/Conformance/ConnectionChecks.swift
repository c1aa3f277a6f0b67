internal import ChannelsBridge
internal import ChannelsTesting

extension TransportConformance {
    /// Connecting and closing.
    static let connectionChecks: [Check] = [
        check("connectedIsTheFirstEventAndComesBeforeConnectReturns") { run in
            let events = Recorder<String>()
            _ = try await run.connected { events.record("\($0)") }
            run.expect(events.all.first == "connected", "the events when connect returned: \(events.all)")
        },
        check("nothingButCloseWorksBeforeConnecting") { run in
            let transport = try await run.newTransport()
            await run.expectError([.notConnected, .closed], "publish before connect") {
                try await transport.publish(try run.message("a", "too early"), durable: false)
            }
            await run.expectError([.notConnected, .closed], "subscribe before connect") {
                try await transport.subscribe(to: try run.pattern("a"), durableName: nil) { _ in }
            }
            try await transport.close(timeout: run.timeout)
        },
        check("nothingWorksAfterClosing") { run in
            let transport = try await run.connected()
            try await transport.close(timeout: run.timeout)
            await run.expectError([.closed, .notConnected], "publish after close") {
                try await transport.publish(try run.message("a", "too late"), durable: false)
            }
            await run.expectError([.closed, .notConnected], "subscribe after close") {
                try await transport.subscribe(to: try run.pattern("a"), durableName: nil) { _ in }
            }
        },
        check("closingTwiceDoesNothing") { run in
            let transport = try await run.connected()
            try await transport.close(timeout: run.timeout)
            try await transport.close(timeout: run.timeout)
        },
        check("aClosedTransportConnectsAgainWithoutItsSubscriptions") { run in
            let transport = try await run.connected()
            let before = Recorder<String>()
            try await transport.subscribe(to: try run.pattern("a"), durableName: nil) {
                before.record($0.message.text)
            }
            try await run.publish(["first"], to: "a", on: transport)
            _ = await before.first(1)
            try await transport.close(timeout: run.timeout)
            let events = Recorder<String>()
            try await transport.connect { events.record("\($0)") }
            run.expect(events.all.first == "connected", "the events when connect returned again: \(events.all)")
            let after = Recorder<String>()
            try await transport.subscribe(to: try run.pattern("a"), durableName: nil) { after.record($0.message.text) }
            try await run.publish(["second"], to: "a", on: transport)
            let texts = await after.first(1)
            run.expect(texts == ["second"], "it got \(texts)")
            run.expect(before.all == ["first"], "a subscription of the earlier connection got \(before.all)")
        },
        check("closingSendsWhatWasPublished") { run in
            let receiver = try await run.connected()
            let heard = Recorder<String>()
            try await receiver.subscribe(to: try run.pattern("a"), durableName: nil) { heard.record($0.message.text) }
            let sender = try await run.connected()
            try await run.publish(numbered(200), to: "a", on: sender)
            try await sender.close(timeout: run.timeout)
            let texts = await heard.first(200)
            run.expect(texts == numbered(200), "\(texts.count) of 200 arrived, or in another order")
        },
        check("noHandlerIsCalledAfterClosing") { run in
            let sender = try await run.connected()
            let leaver = try await run.connected()
            let stayer = try await run.connected()
            let left = Recorder<String>()
            let stayed = Recorder<String>()
            try await leaver.subscribe(to: try run.pattern("a"), durableName: nil) { left.record($0.message.text) }
            try await stayer.subscribe(to: try run.pattern("a"), durableName: nil) { stayed.record($0.message.text) }
            try await run.publish(["before"], to: "a", on: sender)
            _ = await left.first(1)
            try await leaver.close(timeout: run.timeout)
            let count = left.count
            try await run.publish(numbered(50), to: "a", on: sender)
            _ = await stayed.first(51)
            run.expect(left.count == count, "\(left.count - count) calls after close")
        },
        check("closingWhilePublishingEndsEveryCall") { run in
            let transport = try await run.connected()
            let message = try run.message("a", "busy")
            let started = Recorder<Int>()
            let outcomes = await withTaskGroup(of: String?.self) { group in
                for publisher in 0..<4 {
                    group.addTask {
                        do {
                            started.record(publisher)
                            // Ends, because the transport is closed below.
                            while !Task.isCancelled {
                                try await transport.publish(message, durable: false)
                                // A transport need not suspend, and the other tasks need threads too.
                                await Task.yield()
                            }
                            return nil
                        } catch let error as BridgeError where [.closed, .notConnected].contains(error.code) {
                            return nil
                        } catch {
                            return "\(error)"
                        }
                    }
                }
                _ = await started.first(4)
                do { try await transport.close(timeout: run.timeout) } catch { run.fail("close threw \(error)") }
                var outcomes: [String?] = []
                for await outcome in group { outcomes.append(outcome) }
                return outcomes
            }
            for failure in outcomes.compactMap({ $0 }) { run.fail("publish while closing threw \(failure)") }
        },
    ]
}
