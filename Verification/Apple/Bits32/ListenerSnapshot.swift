/// In which the histogram is nested.
public struct ListenerSnapshot {}
