/// The names of the requests from other processes that a task is answering.
enum AnsweredName {
    @TaskLocal static var current: Set<String> = []
}
