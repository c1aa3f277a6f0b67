public import Channels
public import Observation

/// Exposes a state's value as an observable property on the main actor, for views.
///
/// Create it with `state.observed`.
///
/// ```swift
/// struct SalesView: View {
///     let sales: Observed<Sales>  // made once, where the state is kept: shop.sales.observed
///     var body: some View { Text("\(sales.value.total)") }
/// }
/// ```
///
/// The value follows the state: at once if the state is set on the main actor, otherwise soon after. A burst of values
/// set elsewhere is a single change, to the last value. During one turn of the main actor, the value changes only if
/// code in that turn sets the state. It never goes back to an older value. As with `@Observable`, setting an equal
/// value is not a change, if the type is `Equatable`.
///
/// An `Observed` retains the state and listens to it. Keep it as long as the view.
@MainActor
public final class Observed<State: Sendable>: Observable {
    private let state: StateChannel<State>
    private let registrar = ObservationRegistrar()
    private var current: State

    init(_ state: StateChannel<State>) {
        self.state = state
        current = state.value
        state.listen(self, buffering: .newest(1)) { me, _ in me.refresh() }
    }

    /// The value of the state. Setting it sets the state.
    public var value: State {
        get {
            registrar.access(self, keyPath: \.value)
            return current
        }
        set {
            state.set(newValue)
            // The listener may have to wait for its turn, but a text field needs the value at once.
            refresh()
        }
    }

    /// Takes the stored value instead of the delivered one, because the stored value is never older than the value
    /// shown.
    private func refresh() {
        let stored = state.value
        guard !areEqual(stored, current) else { return }
        registrar.withMutation(of: self, keyPath: \.value) { current = stored }
    }
}

extension StateChannel {
    /// The state as an observable object, for views.
    ///
    /// Each use of this property creates a new object, so keep it, for example in `@State`. A released ``Observed``
    /// observes nothing.
    @MainActor public var observed: Observed<State> { Observed(self) }
}
