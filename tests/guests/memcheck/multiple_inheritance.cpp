// A pointer to the second base is all that is left; with the heuristics off it is an interior pointer.
// @options: --leak-check=full --show-leak-kinds=all --leak-check-heuristics=none
struct A {
    virtual ~A() {}
    long a = 1;
};
struct B {
    virtual ~B() {}
    long b = 2;
};
struct C : A, B {
    long c = 3;
};
static B *kept;
int main() {
    kept = new C;
    return 0;
}
