/// The errors in replies that do not come from a responder.
enum ReplyError {
    static let noResponder = "noResponder"
}
