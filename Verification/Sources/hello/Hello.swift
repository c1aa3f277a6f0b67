// The same with the library.

import Channels

@main
struct Hello {
    static func main() {
        let sold = Channel<Int>()
        let token = sold.listen { count in print("sold \(count)") }
        sold.post(3)
        withExtendedLifetime(token) {}
    }
}
