#if canImport(Combine)
import Combine
#else
import OpenCombine
#endif
