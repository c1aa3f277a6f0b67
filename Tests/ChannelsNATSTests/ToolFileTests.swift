#if NATS && SQLite
import ChannelsBridge
import Testing

/// What the tool says of a file that is none.
@Suite(.fewServers, .hangLimit)
struct ToolFileTests {
    /// Opening a pipe waits for whoever writes into it, and an empty path was a trap.
    @Test func aFileThatIsNoneEndsTheToolWithOneLine() async throws {
        let tool = Tool(try await NATSServer())
        let script = """
            mkfifo "$FOLDER/pipe"
            for file in "$FOLDER/pipe" "$FOLDER" /dev/null ''; do
                timeout 20 "$TOOL" streams --file "$file" || echo "$?"
            done
            """
        let result = try await tool.script(script)
        #expect(result.output == "1\n1\n1\n1\n", "\(result.errors)")
        let lines = result.errors.split(separator: "\n")
        #expect(lines.count == 4 && lines.prefix(3).allSatisfy { $0.hasSuffix(" is not a file") }, "\(lines)")
        #expect(lines.last?.contains("--file is empty") == true)
    }
}
#endif
