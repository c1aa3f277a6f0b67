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
            Input.report("tour: \(error)\nTry 'tour --help'.")
            exit(64)
        }
        guard arguments != .help else { return print(Arguments.helpText) }
        let sales = read(arguments)
        let right = await talk(about: sales)
        exit(right ? 0 : 1)
    }

    /// The sales to talk about. Ends the program where there are none.
    private static func read(_ arguments: Arguments) -> [Sale] {
        let source: String
        let bytes: [UInt8]
        do throws(Input.Failure) {
            switch arguments {
            case .file(let path):
                source = path
                bytes = try Input.file(path)
            case .standardInput:
                source = "standard input"
                bytes = try Input.standardInput()
            case .ownSales, .help:
                source = "tips.csv"
                bytes = PackageResources.tips_csv
            }
        } catch {
            if case .file(let path) = arguments { Input.report("tour: cannot read \(path): \(error)") }
            exit(1)
        }
        do throws(SaleReader.Unreadable) {
            let reader = try SaleReader(bytes)
            for malformed in reader.malformed { Input.report("tour: \(source): \(malformed)") }
            print("\(reader.sales.count) sales from \(source)\(reader.malformed.isEmpty ? "" : ", \(reader.malformed.count) malformed").")
            return reader.sales
        } catch {
            Input.report("tour: cannot use \(source): \(error)")
            exit(1)
        }
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
        print("a plain loop: \(loop.sales) sales, \(loop.guests) guests, \(loop.bills.dollars) and \(loop.tips.dollars) in tips")
        print("the ledger:   \(ledger.sales) sales, \(ledger.guests) guests, \(ledger.bills.dollars) and \(ledger.tips.dollars) in tips")
        print("the kitchen:  \(heard.sales) sales, \(heard.guests) guests; the tip jars: \(tips.dollars)")
        let right = ledger == loop && heard == loop && tips == loop.tips
        print(right ? "They agree." : "THEY DIFFER.")
        withExtendedLifetime(stage) {}
        return right
    }
}

/// Prints what an object says.
func say(_ who: String, _ what: String) {
    print("  \(who): \(what)")
}

func heading(_ title: String) {
    print("\n\(title)")
}
