// Objects deleted through a base without a virtual destructor: another size, the same block.
// @build: -fsized-deallocation
struct Base {
    int a = 1;
};
struct Derived : Base {
    int b[4] = {1, 2, 3, 4};
};
int main() {
    Base *p = new Derived;
    volatile int sum = p->a;
    delete p;
    sum += p->a;
    return 0;
}
