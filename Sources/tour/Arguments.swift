/// What the tour has to do, from its arguments.
enum Arguments: Equatable {
    case help
    /// Use the tour's own sales.
    case ownSales
    case standardInput
    case file(String)
    /// Use the tour's own sales in two processes, over a NATS server.
    case overNATS(String)
    /// Use the tour's own sales in two processes, over an SQLite file.
    case overFile(String)

    /// Something the tour does not understand.
    struct Misuse: Error, Equatable, CustomStringConvertible {
        let description: String
    }

    static let helpText = """
        Usage: tour [FILE | -]
               tour --file PATH
               tour --nats URL

        Shows a day in a restaurant, in which objects communicate through channels. Each of the five ways to communicate, and requests, have
        a source file in Sources/tour. On a terminal names are in colour, unless NO_COLOR is set.

        FILE   comma-separated sales with the columns total_bill, tip, day, time and size; without it, the 244 included bills
        -      the same from standard input

        --file PATH  in two terminals: the kitchen in the first process, the till in the second, over one SQLite file, which is created. Needs the
                     package trait: swift run --traits SQLite tour --file sales.sqlite
        --nats URL   in two terminals: the kitchen in the first process, the till in the second, over the NATS server at the address, such as
                     nats://127.0.0.1:4222. Needs the package trait: swift run --traits NATS tour --nats URL

        Invalid lines are skipped; the first 20 are reported on standard error with their numbers. At most 4 MiB are read, with 366 different
        days and as many times. At the end the totals of the objects are compared with those of a plain loop.

        The included bills are from P. G. Bryant and M. A. Smith, Practical Data Analysis: Case Studies in Business Statistics, 1995,
        as distributed with the Python package plotly.

        Exit status: 0; 1 if the sales cannot be read, the totals differ or the output cannot be written; 64 for invalid arguments.
        """

    static func parse(_ arguments: [String]) throws(Misuse) -> Arguments {
        var operands: [String] = []
        var takesOptions = true
        // The option that takes the next argument, and the options that have their value.
        var option: String?
        var values: [String: String] = [:]
        for argument in arguments {
            if let name = option {
                values[name] = argument
                option = nil
                continue
            }
            if takesOptions, argument == "--help" || argument == "-h" { return .help }
            if takesOptions, argument == "--" {
                takesOptions = false
            } else if takesOptions, argument == "--nats" || argument == "--file" {
                option = argument
            } else if takesOptions, argument.hasPrefix("-"), argument != "-" {
                throw Misuse(description: "unknown option '\(argument)'")
            } else {
                operands.append(argument)
            }
        }
        if let option {
            throw Misuse(description: "\(option) needs \(option == "--nats" ? "the address of a server" : "a path")")
        }
        if let (name, value) = values.first {
            guard values.count == 1 else { throw Misuse(description: "--file and --nats exclude each other") }
            guard operands.isEmpty else {
                throw Misuse(description: "\(name) shows the tour's own sales, not those of a file")
            }
            return name == "--nats" ? .overNATS(value) : .overFile(value)
        }
        guard let first = operands.first else { return .ownSales }
        guard operands.count == 1 else {
            throw Misuse(description: "one file at most, but \(operands.count) were given")
        }
        return first == "-" && takesOptions ? .standardInput : .file(first)
    }
}
