// What a program takes that does not use the library: see Verification/Checks/size.

@main
struct Empty {
    static func main() { print("sold 3") }
}
