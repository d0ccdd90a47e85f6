/* A library in two versions, which differ in where their functions are and in what those inside are called. */
#ifdef NEW
#define INNER new_inner
__attribute__((noipa)) int unrelated(int x, void (*back)(void)) { return back == 0 ? x : -x; }
__attribute__((noipa)) int also_unrelated(int x, void (*back)(void)) { return back == 0 ? x : -2 * x; }
__attribute__((noipa)) int third_unrelated(int x, void (*back)(void)) { return back == 0 ? x : -3 * x; }
#else
#define INNER old_inner
#endif
static __attribute__((noipa)) int INNER(int x, void (*back)(void)) {
    back();
    return x + 1;
}
__attribute__((noipa)) int function1(int x, void (*back)(void)) { return INNER(x, back) + 0; }
