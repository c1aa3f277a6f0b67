import Foundation

#if canImport(Combine)
import Combine
#else
import OpenCombine
#endif

let typed = Channel<String>()
let queries = Channel<String>()
let moved = Channel<Int>()
let shop = Till()

@MainActor final class Page {
    func search(_ text: String) {}
}

func show(_ position: Int) {}
func book(_ sale: Sale) {}
