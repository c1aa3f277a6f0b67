// The guide SwiftUIAndUIKit, compiled where there is something to compile it against.
#if canImport(SwiftUI)
import Channels
import ChannelsFoundation
import SwiftUI

private struct Sales: Sendable, Equatable {
    var total = 0
    var dish = ""
}

private struct SalesView: View {
    @Bindable var sales: Observed<Sales>

    var body: some View {
        VStack {
            Text("\(sales.value.total) sold")
            TextField("Dish", text: $sales.value.dish)
        }
    }
}

#if canImport(UIKit) && !os(watchOS)
import UIKit

private final class SalesController: UIViewController {
    private let label = UILabel()

    init(_ sales: StateChannel<Sales>) {
        super.init(nibName: nil, bundle: nil)
        sales.map(\.total).removingDuplicates().listen(self) { me, total in me.label.text = "\(total) sold" }
    }

    required init?(coder: NSCoder) { nil }
}
#endif
#endif
