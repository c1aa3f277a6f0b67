import Channels

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#endif

/// A day in a restaurant, whose objects communicate in each of five ways, and compare their sums at the end.
@main
@MainActor
struct Tour {
    static func main() async {
        let arguments: Arguments
        do throws(Arguments.Misuse) {
            arguments = try Arguments.parse(Array(CommandLine.arguments.dropFirst()))
        } catch {
            Input.report("tour: \(error)", "Try 'tour --help'.")
            exit(64)
        }
        if arguments == .help {
            print(Arguments.helpText)
            Input.finish(0)
        }
        let sales = read(arguments)
        if case .overNATS(let url) = arguments {
            #if NATS
            Input.finish(await OverNATS.run(url, sales) ? 0 : 1)
            #else
            Input.report(
                "tour: this build has no NATS support; run: swift run --traits NATS tour --nats \(url)"
            )
            exit(1)
            #endif
        }
        if case .overFile(let path) = arguments {
            #if SQLite
            Input.finish(await OverFile.run(path, sales) ? 0 : 1)
            #else
            Input.report(
                "tour: this build has no SQLite support; run: swift run --traits SQLite tour --file \(path)"
            )
            exit(1)
            #endif
        }
        let right = await talk(about: sales)
        Input.finish(right ? 0 : 1)
    }

    /// Reads the sales, or ends the program if there are none.
    private static func read(_ arguments: Arguments) -> [Sale] {
        let source =
            switch arguments {
            case .file(let path): "'\(path)'"
            case .standardInput: "standard input"
            case .ownSales, .overNATS, .overFile, .help: "tips.csv"
            }
        let bytes: [UInt8]
        do throws(Input.Failure) {
            switch arguments {
            case .file(let path): bytes = try Input.file(path)
            case .standardInput: bytes = try Input.standardInput()
            case .ownSales, .overNATS, .overFile, .help: bytes = PackageResources.tips_csv
            }
        } catch {
            Input.report("tour: cannot read \(source): \(error)")
            exit(1)
        }
        do throws(SaleReader.Unreadable) {
            let reader = try SaleReader(bytes)
            report(reader.malformed, of: reader.malformedCount, in: source)
            let skipped = reader.malformedCount == 0 ? "" : ", \(reader.malformedCount.of("line", "lines")) malformed"
            print("\(reader.sales.count.of("sale", "sales")) from \(source)\(skipped).".printable)
            return reader.sales
        } catch {
            report(error.malformed, of: error.malformedCount, in: source)
            Input.report("tour: cannot use \(source): \(error)")
            exit(1)
        }
    }

    private static func report(_ malformed: [SaleReader.Malformed], of count: Int, in source: String) {
        for malformed in malformed { Input.report("tour: \(source): \(malformed)") }
        let others = count - malformed.count
        if others > 0 { Input.report("tour: \(source): \(others.of("other line", "other lines")) skipped") }
    }

    /// - Returns: Whether the totals of the objects equal those of a plain loop.
    private static func talk(about sales: [Sale]) async -> Bool {
        let stage = Stage()
        let closeDoors = notificationCentre(stage)
        let heard = await namedChannels(sales, stage)
        eventProperty(sales, stage)
        let ledger = statefulMiddleware(sales, stage)
        let tips = await requests(sales, stage)
        protocolNotifications(sales, stage)
        closeDoors()

        heading("The switchboard: print(board)")
        print(stage.board)

        heading("The totals")
        var loop = Totals()
        for sale in sales { loop.add(sale) }
        print("  a plain loop: \(loop.counts), \(loop.bills.dollars) and \(loop.tips.dollars) in tips")
        let right = ledger == loop && heard == loop && tips == loop.tips
        if !right {
            print("  the ledger:   \(ledger.counts), \(ledger.bills.dollars) and \(ledger.tips.dollars) in tips")
            print("  the kitchen:  \(heard.counts); the tip jars: \(tips.dollars)")
        }
        print(right ? "  The ledger, the kitchen and the tip jars agree with it." : "  THEY DIFFER.")
        withExtendedLifetime(stage) {}
        return right
    }
}

/// Prints what an object says. On a terminal, its name is in color.
func say(_ who: String, _ what: String) {
    print("  \(Style.name(who.printable)): \(what.printable)")
}

func heading(_ title: String) {
    print("\n\(Style.heading(title))")
}
