/// What a reply says where there is no response and the text is not the error of a responder.
enum ReplyError {
    static let noResponder = "noResponder"
}
