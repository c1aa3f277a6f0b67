import Channels

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Objects talk about sales, in each of the five ways, and check their sums at the end.
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
        switch arguments {
        case .overNATS(let url):
            #if NATS
            Input.finish(await TwoProcesses.run(over: OverNATS(place: url), sales) ? 0 : 1)
            #else
            lacksTrait("NATS", "tour --nats \(url)")
            #endif
        case .overFile(let path):
            #if SQLite
            Input.finish(await TwoProcesses.run(over: OverFile(place: path), sales) ? 0 : 1)
            #else
            lacksTrait("SQLite", "tour --file \(path)")
            #endif
        case .help, .ownSales, .standardInput, .file: break
        }
        let right = await talk(about: sales)
        Input.finish(right ? 0 : 1)
    }

    private static func lacksTrait(_ trait: String, _ command: String) -> Never {
        Input.report("tour: built without \(trait). Use the trait: swift run --traits \(trait) \(command)")
        exit(1)
    }

    /// The sales to talk about. Ends the program where there are none.
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

    /// - Returns: Whether the totals of the objects are those of a plain loop.
    private static func talk(about sales: [Sale]) async -> Bool {
        let stage = Stage()
        let heard = await namedChannels(sales, stage)
        eventProperty(sales, stage)
        protocolNotifications(sales, stage)
        let ledger = statefulMiddleware(sales, stage)
        notificationCentre(stage)
        let tips = await requests(sales, stage)

        heading("The switchboard, as print(board) shows it")
        print(stage.board)

        heading("The totals")
        var loop = Totals()
        for sale in sales { loop.add(sale) }
        print("a plain loop: \(loop.counts), \(loop.bills.dollars) and \(loop.tips.dollars) in tips")
        print("the ledger:   \(ledger.counts), \(ledger.bills.dollars) and \(ledger.tips.dollars) in tips")
        print("the kitchen:  \(heard.counts); the tip jars: \(tips.dollars)")
        let right = ledger == loop && heard == loop && tips == loop.tips
        print(right ? "They agree." : "THEY DIFFER.")
        withExtendedLifetime(stage) {}
        return right
    }
}

/// Prints what an object says.
func say(_ who: String, _ what: String) {
    print("  \(who): \(what)".printable)
}

func heading(_ title: String) {
    print("\n\(title)")
}
