#if Tool
import ArgumentParser

/// How messages are printed.
struct OutputOptions: ParsableArguments {
    @Flag(help: "Print each message as a JSON object: channel, time, id, source, type and data.")
    var json = false

    @Flag(help: "Print JSON over several lines.")
    var pretty = false

    @Flag(
        help:
            "Print when each message was posted, in UTC: the time that the message or its stream has, or else the time at which it arrived."
    )
    var timestamps = false

    @Flag(help: "Print the headers of each message.")
    var headers = false
}
#endif
