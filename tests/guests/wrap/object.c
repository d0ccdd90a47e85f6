/* The object of the dlopen tests: function1, and a caller of it inside the object. */
__attribute__((noipa, visibility("default"))) int function1(int x) { return x + 1; }
__attribute__((noipa, visibility("default"))) int call_function1(int x, int times) {
    int last = 0;
    for (int i = 0; i < times; i++) last = function1(x);
    return last;
}
