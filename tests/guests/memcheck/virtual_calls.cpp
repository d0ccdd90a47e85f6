// A virtual call through a freed object and through one that was never made; dynamic_cast on it.
struct Base {
    virtual ~Base() {}
    virtual int value() { return 1; }
    int field;
};
struct Derived : Base {
    int value() override { return 2; }
    int more = 3;
};

int main() {
    Base *p = new Derived;
    volatile int sum = p->value();
    if (p->field) // undefined
        sum++;
    Derived *d = dynamic_cast<Derived *>(p);
    delete p;
    sum += d->more; // freed
    Base *q = new Base;
    sum += static_cast<Derived *>(q)->more; // not there
    delete q;
    return 0;
}
