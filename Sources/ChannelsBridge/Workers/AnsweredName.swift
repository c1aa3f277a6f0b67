/// The request channels on which a task answers another process.
enum AnsweredName {
    @TaskLocal static var current: Set<String> = []
}
