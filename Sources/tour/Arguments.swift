/// What the tour was asked to do.
enum Arguments: Equatable {
    case help
    /// To talk about its own sales.
    case ownSales
    case standardInput
    case file(String)
    /// To talk about its own sales with another process, over a NATS server.
    case overNATS(String)
    /// The same, over an SQLite file.
    case overFile(String)

    /// Something the tour does not understand.
    struct Misuse: Error, Equatable, CustomStringConvertible {
        let description: String
    }

    static let helpText = """
        Usage: tour [FILE | -]
               tour --nats URL
               tour --file PATH

        Shows objects that talk to each other through channels, about real sales: the bills of a restaurant. Each of the five ways of
        talking has a source file of its own in Sources/tour, and so have requests.

        FILE   comma-separated sales with the columns total_bill, tip, day, time and size; without it, the 244 bills that come along
        -      the same from standard input

        --nats URL   in two terminals: the kitchen in the first process, the till in the second, over the NATS server at the address, such as
                     nats://127.0.0.1:4222. Needs the package trait: swift run --traits NATS tour --nats URL
        --file PATH  the same over an SQLite file, which is created if there is none: there is no server to start. Needs the package
                     trait: swift run --traits SQLite tour --file sales.sqlite

        A line that is no sale is skipped; the first 20 of them are reported on standard error with their numbers. At most 4 MiB are
        read, with 366 different days and as many times. At the end the totals that the objects arrived at are compared with those of a plain
        loop.

        The bills that come along are from P. G. Bryant and M. A. Smith, Practical Data Analysis: Case Studies in Business Statistics, 1995,
        as distributed with the Python package plotly.

        Exit status: 0; 1 where the sales cannot be read, the totals differ or the output cannot be written; 64 for arguments that are not
        understood.
        """

    static func parse(_ arguments: [String]) throws(Misuse) -> Arguments {
        var operands: [String] = []
        var takesOptions = true
        var line: (option: String, place: String?)?
        for argument in arguments {
            if let given = line, given.place == nil {
                line = (given.option, argument)
                continue
            }
            if takesOptions, argument == "--help" || argument == "-h" { return .help }
            if takesOptions, argument == "--" {
                takesOptions = false
            } else if takesOptions, argument == "--nats" || argument == "--file" {
                guard line == nil else { throw Misuse(description: "one of --nats and --file at most") }
                line = (argument, nil)
            } else if takesOptions, argument.hasPrefix("-"), argument != "-" {
                throw Misuse(description: "unknown option '\(argument)'")
            } else {
                operands.append(argument)
            }
        }
        if let line {
            guard let place = line.place else {
                let what = line.option == "--nats" ? "the address of a server" : "a path"
                throw Misuse(description: "\(line.option) needs \(what)")
            }
            guard operands.isEmpty else {
                throw Misuse(description: "\(line.option) shows the tour's own sales, not those of a file")
            }
            return line.option == "--nats" ? .overNATS(place) : .overFile(place)
        }
        guard let first = operands.first else { return .ownSales }
        guard operands.count == 1 else {
            throw Misuse(description: "one file at most, but \(operands.count) were given")
        }
        return first == "-" && takesOptions ? .standardInput : .file(first)
    }
}
