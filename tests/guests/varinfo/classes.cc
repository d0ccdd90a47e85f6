/* Variables of C++. */
#include "look.h"
#include <string>

#define AT(p, n) ((char *)(p) + (n))

struct Base {
    int b0, b1;
    virtual ~Base() {}
};
struct Mix {
    long m;
};
struct Empty {};
class Derived : public Base, public Mix, public Empty {
  public:
    int d0;
    static int shared;
    struct Inner {
        char c[8];
        int &r;
    } *inner;
    int arr[2];
};
int Derived::shared = 4;

namespace space {
int in_space;
static Derived local_to_file;
namespace {
int anonymous;
}
inline namespace v2 {
int versioned[3];
}
int *get() { return &anonymous; }
} // namespace space

template <class T> struct Box {
    T value;
    static T common;
};
template <class T> T Box<T>::common;
Box<double> box;
enum class Scoped : short { A } scoped;
union U {
    int a;
    char b[4];
} just_union;
struct {
    U u;
    int z;
} holder;
Derived square[3][2];
int (Derived::*member_pointer);

template <class T> T generic(T t) {
    T u = t;
    LOOK(AT(&u, 1)); // 1 byte inside local var "u" @58 #1
    LOOK(AT(&t, 1)); // 1 byte inside local var "t" @57 #1
    return u;
}

struct Object {
    int x, y;
    void method(int k) {
        LOOK(&k);    // local var "k" @66 #1
        LOOK(&y);    // o.y @113 #2
        auto self = this;
        LOOK(&self); // local var "self" @69 #1
    }
};

template <class... T> void pack(T... all) {
    const void *places[] = {&all...};
    for (auto p : places)
        LOOK(p); // ~local var "(all|all#[01]|<anon_var>)" @74 #1 (valgrind: no line)
}

static void passed(Derived &r, Derived v, const int &number) {
    LOOK(&r.d0);             // ~(d|caller).d0 @114 #2
    LOOK(&v.d0);             // v.d0 @80 #1
    LOOK(&v.b1);             // v.b1 @80 #1 (valgrind: no base classes)
    LOOK(&v.m);              // v.m @80 #1 (valgrind: no base classes)
    LOOK(&v.arr[1]);         // v.arr[1] @80 #1
    LOOK(AT(&v.inner, 2));   // 2 bytes inside v.inner @80 #1
    LOOK(&number);           // o.x @113 #2
    auto lambda = [&](int q) {
        int within = 2;
        LOOK(&q);            // local var "q" @88 #1
        LOOK(&within);       // local var "within" @89 #1
        return q;
    };
    lambda(3);
    try {
        throw 3;
    } catch (int e) {
        LOOK(&e);            // local var "e" @97 #1
    }
    for (int i = 0; i < 1; i++) {
        auto z = i;
        LOOK(&z);            // local var "z" @101 #1
        LOOK(&i);            // local var "i" @100 #1
    }
    int (&alias)[2] = v.arr;
    LOOK(&alias[0]);         // v.arr[0] @80 #1
    auto [first, second] = Object{1, 2};
    LOOK(&second);           // ~local var "second" @107 #1|<anon_var>.y
    (void)first;
}

int main() {
    Object o;
    Derived d{};
    static int of_main;
    LOOK(&space::in_space);         // global var "space::in_space" @28 (valgrind: no namespaces)
    LOOK(&space::local_to_file.d0); // space::local_to_file.d0 @29 (valgrind: no namespaces)
    LOOK(space::get());             // global var "space::(anonymous namespace)::anonymous" @31 (valgrind: no namespaces)
    LOOK(&space::versioned[2]);     // space::v2::versioned[2] @34 (valgrind: no namespaces)
    LOOK(&Derived::shared);         // ~global var "Derived::shared" @(25|18) (valgrind: no members of classes)
    LOOK(&box.value);               // box.value @44
    LOOK(&Box<double>::common);     // ~global var "Box<double>::common" @(43|41) (valgrind: no members of classes)
    LOOK(AT(&scoped, 1));           // 1 byte inside global var "scoped" @45
    LOOK(AT(&just_union, 1));       // 1 byte inside global var "just_union" @49
    LOOK(AT(&holder, 1));           // 1 byte inside holder.u @53
    LOOK(&square[1][1].d0);         // square[1][1].d0 @54 (valgrind: one dimension only)
    LOOK(AT(&member_pointer, 3));   // 3 bytes inside global var "member_pointer" @55
    generic(3);
    generic(2.5);
    o.method(2);
    pack(1, 2);
    passed(d, d, o.x);
    return of_main;
}

namespace space {
static union {
    int united;
    char bytes[8];
};
} // namespace space
template <class T> T by_type[2];

__attribute__((constructor)) static void more() {
    LOOK(&space::bytes[6]); // ~space::bytes.6. @137|6 bytes inside global var "<anon_var>" (valgrind: no namespaces)
    LOOK(&by_type<int>[1]); // by_type<int>[1] @142 (valgrind: no templates)
}
