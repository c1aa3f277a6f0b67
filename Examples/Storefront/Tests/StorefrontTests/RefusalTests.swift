import Channels
import ChannelsTesting
import Testing

@testable import Storefront

/// Bad requests are refused with a status and a reason, and never with a 500 or silence.
struct RefusalTests {
    @Test(arguments: [
        ("", "JSON"), ("{", "JSON"), ("null", "object"), ("[]", "object"), (#""x""#, "object"),
        (String(repeating: "[", count: 60_000), "JSON"), ("\u{0}\u{1}", "JSON"),
        (#"{"id":"a"}"#, "name: it is missing"),
        (#"{"id":"a","name":"A","menu":"Lunch","guests":"2","bill":1,"tip":0}"#, "guests: "),
        (#"{"id":"a","name":null,"menu":"Lunch","guests":2,"bill":1,"tip":0}"#, "name: "),
        (#"{"id":"a","name":"A","menu":"Tea","guests":2,"bill":1,"tip":0}"#, "menu: Lunch or Dinner"),
        (#"{"id":"a","name":"A","menu":"Lunch","guests":0,"bill":1,"tip":0}"#, "guests: 1 to 1000"),
        (#"{"id":"a","name":"A","menu":"Lunch","guests":2,"bill":0,"tip":0}"#, "bill: "),
        (#"{"id":"a","name":"A","menu":"Lunch","guests":2,"bill":1.5,"tip":0}"#, "JSON"),
        (#"{"id":"a","name":"A","menu":"Lunch","guests":2,"bill":1e300,"tip":0}"#, "JSON"),
        (#"{"id":"a","name":"A","menu":"Lunch","guests":2,"bill":1,"tip":-1}"#, "tip: "),
        (#"{"id":"a b","name":"A","menu":"Lunch","guests":2,"bill":1,"tip":0}"#, "id: "),
        (#"{"id":"","name":"A","menu":"Lunch","guests":2,"bill":1,"tip":0}"#, "id: "),
        (#"{"id":"bill-1","name":"A","menu":"Lunch","guests":2,"bill":1,"tip":0}"#, "id: "),
        (#"{"id":"a","name":"","menu":"Lunch","guests":2,"bill":1,"tip":0}"#, "name: "),
        (#"{"id":"a","name":"A\u0007","menu":"Lunch","guests":2,"bill":1,"tip":0}"#, "name: "),
    ])
    func saleThatIsNoneIsRefusedWithTheReason(body: String, reason: String) async throws {
        try await withShop { shop, port async throws in
            let answer = try await postSale(port, body)
            #expect(answer.status == 400)
            #expect(answer.body.contains("message") && answer.body.contains(reason))
            #expect(shop.board.state(.office, initial: Office()).value.sales == 0)
        }
    }

    @Test func theRestIsRefusedWithTheStatusThatIsDue() async throws {
        try await withShop { _, port async throws in
            let sale = Sale.test("s1").json
            #expect(try await request(port, "POST", "/sales", body: sale).status == 415)
            let form = ["Content-Type: text/plain"]
            #expect(try await request(port, "POST", "/sales", headers: form, body: sale).status == 415)
            let large = sale + String(repeating: " ", count: 65_536)
            #expect(try await postSale(port, large).status == 413)
            #expect(try await request(port, "GET", "/nowhere").status == 404)
            #expect(try await request(port, "GET", "/../../etc/passwd").status == 404)
            let get = try await request(port, "GET", "/sales")
            #expect(get.status == 405 && get.head.contains("allow: post"))
            #expect(try await request(port, "DELETE", "/").status == 405)
            #expect(try await request(port, "POST", "/events").status == 405)
            #expect(try await request(port, "HEAD", "/").status == 200)
            #expect(try await request(port, "BREW", "/sales").status == 400)
        }
    }

    @Test func bodyWithoutALengthIsRefusedOnceItIsTooLarge() async throws {
        try await withShop { _, port async throws in
            let connection = try await Connection(port)
            try await connection.send(
                """
                POST /sales HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
                Transfer-Encoding: chunked\r\n\r\n
                """
            )
            let chunk = "4000\r\n" + String(repeating: " ", count: 0x4000) + "\r\n"
            for _ in 0..<5 { try await connection.send(chunk) }
            #expect(try Answer(await connection.wait(for: "\r\n\r\n")).status == 413)
        }
    }

    @Test(arguments: ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "", "127.0.0.1@evil"])
    func foreignHostIsRefused(host: String) async throws {
        try await withShop { _, port async throws in
            #expect(try await request(port, "GET", "/", headers: ["Host: \(host)"]).status == 403)
        }
    }

    @Test func foreignOriginIsRefused() async throws {
        try await withShop { _, port async throws in
            for origin in ["http://evil.example", "null", "https://127.0.0.1:\(port)", "http://127.0.0.1:1"] {
                #expect(try await request(port, "GET", "/events", headers: ["Origin: \(origin)"]).status == 403)
            }
            let own = ["Host: localhost:\(port)", "Origin: http://localhost:\(port)"]
            #expect(try await request(port, "GET", "/", headers: own).status == 200)
        }
    }

    @Test func everyAnswerTellsTheBrowserToRunNothingElse() async throws {
        try await withShop { _, port async throws in
            for path in ["/", "/page.js", "/nowhere", "/sales"] {
                let head = try await request(port, "GET", path).head
                #expect(head.contains("content-security-policy: default-src 'none'"))
                #expect(!head.contains("unsafe-inline") && !head.contains("access-control-allow"))
                #expect(head.contains("x-content-type-options: nosniff"))
            }
        }
    }

    @Test func saleIsRefusedForNowWhereTheBufferIsFull() async throws {
        try await withShop { shop, port async throws in
            let gate = Gate()
            let slow = shop.board[.rung].listen(buffering: .oldest(1)) { _ in await gate.wait() }
            // One sale is in the listener, and one in its buffer.
            async let first = postSale(port, Sale.test("s1").json)
            while gate.waitingCount == 0 { await Task.yield() }
            async let second = postSale(port, Sale.test("s2").json)
            while slow.waitingCount == 0 { await Task.yield() }
            let third = try await postSale(port, Sale.test("s3").json)
            #expect(third.status == 429 && third.head.contains("retry-after: 1"))
            gate.open()
            let statuses = try await [first, second].map(\.status)
            #expect(statuses == [201, 201])
            #expect(try await postSale(port, Sale.test("s3").json).status == 201)
        }
    }

    @Test func saleThatCannotBeBookedIsNotAcknowledged() async throws {
        struct DiskFull: Error {}
        try await withShop { shop, port async throws in
            let broken = shop.board[.rung].listen { _ in throw DiskFull() }
            let answer = try await postSale(port, Sale.test("s1").json)
            #expect(answer.status == 503 && answer.body.contains("try again"))
            broken.cancel()
            #expect(try await postSale(port, Sale.test("s1").json).status == 201)
        }
    }

    @Test func saleThatIsHeldIsAnsweredWithTheReason() async throws {
        try await withShop { _, port async throws in
            let answer = try await postSale(port, Sale.test("s1", bill: 1, tip: 2).json)
            #expect(answer.status == 422 && answer.body.contains("the tip is larger than the bill"))
        }
    }

    @Test func saleSentAgainIsAnsweredAsTheFirstTime() async throws {
        try await withShop { shop, port async throws in
            let first = try await postSale(port, Sale.test("s1").json)
            let again = try await postSale(port, Sale.test("s1").json)
            #expect(first.status == 201 && again.status == 201 && first.body == again.body)
            let other = try await postSale(port, Sale.test("s1", bill: 999).json)
            #expect(other.status == 409)
            #expect(shop.board.state(.office, initial: Office()).value.sales == 1)
        }
    }

    @Test func garbageIsAnsweredOrTheConnectionClosed() async throws {
        try await withShop { _, port async throws in
            for text in [
                "\0\0\0\0\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n",
                "POST /sales HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
            ] {
                let connection = try await Connection(port)
                try await connection.send(text)
                let answer = try Answer(await connection.waitForEnd())
                #expect((400..<500).contains(answer.status))
            }
        }
    }
}
