/* Every CALL_FN: words in registers and on the stack, in order, with the stack aligned. */
#include "header.h"
typedef long W;
static int misaligned;
#define CHECK() do { volatile long probe __attribute__((aligned(16))) = 0; misaligned += ((unsigned long)&probe & 15) != 0 || \
        ((unsigned long)__builtin_frame_address(0) & 15) != 0; } while (0)
NOINLINE W f0(void) { CHECK(); return 0 + 0; }
W I_WRAP_SONAME_FNNAME_ZU(NONE, f0)(void) {
    W r;
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    CALL_FN_W_v(r, fn);
    return -r;
}
static W seen0;
NOINLINE void v0(void) { CHECK(); seen0 += 0 + 0; }
void I_WRAP_SONAME_FNNAME_ZU(NONE, v0)(void) {
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    CALL_FN_v_v(fn);
    CALL_FN_v_v(fn);
}
NOINLINE W f1(W a1) { CHECK(); return 1 * a1 + 1; }
W I_WRAP_SONAME_FNNAME_ZU(NONE, f1)(W a1) {
    W r;
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    CALL_FN_W_W(r, fn, a1);
    return -r;
}
static W seen1;
NOINLINE void v1(W a1) { CHECK(); seen1 += 1 * a1 + 1; }
void I_WRAP_SONAME_FNNAME_ZU(NONE, v1)(W a1) {
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    CALL_FN_v_W(fn, a1);
    CALL_FN_v_W(fn, a1);
}
NOINLINE W f2(W a1, W a2) { CHECK(); return 1 * a1 + 2 * a2 + 2; }
W I_WRAP_SONAME_FNNAME_ZU(NONE, f2)(W a1, W a2) {
    W r;
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    CALL_FN_W_WW(r, fn, a1, a2);
    return -r;
}
static W seen2;
NOINLINE void v2(W a1, W a2) { CHECK(); seen2 += 1 * a1 + 2 * a2 + 2; }
void I_WRAP_SONAME_FNNAME_ZU(NONE, v2)(W a1, W a2) {
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    CALL_FN_v_WW(fn, a1, a2);
    CALL_FN_v_WW(fn, a1, a2);
}
NOINLINE W f3(W a1, W a2, W a3) { CHECK(); return 1 * a1 + 2 * a2 + 3 * a3 + 3; }
W I_WRAP_SONAME_FNNAME_ZU(NONE, f3)(W a1, W a2, W a3) {
    W r;
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    CALL_FN_W_WWW(r, fn, a1, a2, a3);
    return -r;
}
static W seen3;
NOINLINE void v3(W a1, W a2, W a3) { CHECK(); seen3 += 1 * a1 + 2 * a2 + 3 * a3 + 3; }
void I_WRAP_SONAME_FNNAME_ZU(NONE, v3)(W a1, W a2, W a3) {
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    CALL_FN_v_WWW(fn, a1, a2, a3);
    CALL_FN_v_WWW(fn, a1, a2, a3);
}
NOINLINE W f4(W a1, W a2, W a3, W a4) { CHECK(); return 1 * a1 + 2 * a2 + 3 * a3 + 4 * a4 + 4; }
W I_WRAP_SONAME_FNNAME_ZU(NONE, f4)(W a1, W a2, W a3, W a4) {
    W r;
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    CALL_FN_W_WWWW(r, fn, a1, a2, a3, a4);
    return -r;
}
static W seen4;
NOINLINE void v4(W a1, W a2, W a3, W a4) { CHECK(); seen4 += 1 * a1 + 2 * a2 + 3 * a3 + 4 * a4 + 4; }
void I_WRAP_SONAME_FNNAME_ZU(NONE, v4)(W a1, W a2, W a3, W a4) {
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    CALL_FN_v_WWWW(fn, a1, a2, a3, a4);
    CALL_FN_v_WWWW(fn, a1, a2, a3, a4);
}
NOINLINE W f5(W a1, W a2, W a3, W a4, W a5) { CHECK(); return 1 * a1 + 2 * a2 + 3 * a3 + 4 * a4 + 5 * a5 + 5; }
W I_WRAP_SONAME_FNNAME_ZU(NONE, f5)(W a1, W a2, W a3, W a4, W a5) {
    W r;
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    CALL_FN_W_5W(r, fn, a1, a2, a3, a4, a5);
    return -r;
}
static W seen5;
NOINLINE void v5(W a1, W a2, W a3, W a4, W a5) { CHECK(); seen5 += 1 * a1 + 2 * a2 + 3 * a3 + 4 * a4 + 5 * a5 + 5; }
void I_WRAP_SONAME_FNNAME_ZU(NONE, v5)(W a1, W a2, W a3, W a4, W a5) {
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    CALL_FN_v_5W(fn, a1, a2, a3, a4, a5);
    CALL_FN_v_5W(fn, a1, a2, a3, a4, a5);
}
NOINLINE W f6(W a1, W a2, W a3, W a4, W a5, W a6) { CHECK(); return 1 * a1 + 2 * a2 + 3 * a3 + 4 * a4 + 5 * a5 + 6 * a6 + 6; }
W I_WRAP_SONAME_FNNAME_ZU(NONE, f6)(W a1, W a2, W a3, W a4, W a5, W a6) {
    W r;
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    CALL_FN_W_6W(r, fn, a1, a2, a3, a4, a5, a6);
    return -r;
}
static W seen6;
NOINLINE void v6(W a1, W a2, W a3, W a4, W a5, W a6) { CHECK(); seen6 += 1 * a1 + 2 * a2 + 3 * a3 + 4 * a4 + 5 * a5 + 6 * a6 + 6; }
void I_WRAP_SONAME_FNNAME_ZU(NONE, v6)(W a1, W a2, W a3, W a4, W a5, W a6) {
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    CALL_FN_v_6W(fn, a1, a2, a3, a4, a5, a6);
    CALL_FN_v_6W(fn, a1, a2, a3, a4, a5, a6);
}
NOINLINE W f7(W a1, W a2, W a3, W a4, W a5, W a6, W a7) { CHECK(); return 1 * a1 + 2 * a2 + 3 * a3 + 4 * a4 + 5 * a5 + 6 * a6 + 7 * a7 + 7; }
W I_WRAP_SONAME_FNNAME_ZU(NONE, f7)(W a1, W a2, W a3, W a4, W a5, W a6, W a7) {
    W r;
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    CALL_FN_W_7W(r, fn, a1, a2, a3, a4, a5, a6, a7);
    return -r;
}
static W seen7;
NOINLINE void v7(W a1, W a2, W a3, W a4, W a5, W a6, W a7) { CHECK(); seen7 += 1 * a1 + 2 * a2 + 3 * a3 + 4 * a4 + 5 * a5 + 6 * a6 + 7 * a7 + 7; }
void I_WRAP_SONAME_FNNAME_ZU(NONE, v7)(W a1, W a2, W a3, W a4, W a5, W a6, W a7) {
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    CALL_FN_v_7W(fn, a1, a2, a3, a4, a5, a6, a7);
    CALL_FN_v_7W(fn, a1, a2, a3, a4, a5, a6, a7);
}
NOINLINE W f8(W a1, W a2, W a3, W a4, W a5, W a6, W a7, W a8) { CHECK(); return 1 * a1 + 2 * a2 + 3 * a3 + 4 * a4 + 5 * a5 + 6 * a6 + 7 * a7 + 8 * a8 + 8; }
W I_WRAP_SONAME_FNNAME_ZU(NONE, f8)(W a1, W a2, W a3, W a4, W a5, W a6, W a7, W a8) {
    W r;
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    CALL_FN_W_8W(r, fn, a1, a2, a3, a4, a5, a6, a7, a8);
    return -r;
}
NOINLINE W f9(W a1, W a2, W a3, W a4, W a5, W a6, W a7, W a8, W a9) { CHECK(); return 1 * a1 + 2 * a2 + 3 * a3 + 4 * a4 + 5 * a5 + 6 * a6 + 7 * a7 + 8 * a8 + 9 * a9 + 9; }
W I_WRAP_SONAME_FNNAME_ZU(NONE, f9)(W a1, W a2, W a3, W a4, W a5, W a6, W a7, W a8, W a9) {
    W r;
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    CALL_FN_W_9W(r, fn, a1, a2, a3, a4, a5, a6, a7, a8, a9);
    return -r;
}
NOINLINE W f10(W a1, W a2, W a3, W a4, W a5, W a6, W a7, W a8, W a9, W a10) { CHECK(); return 1 * a1 + 2 * a2 + 3 * a3 + 4 * a4 + 5 * a5 + 6 * a6 + 7 * a7 + 8 * a8 + 9 * a9 + 10 * a10 + 10; }
W I_WRAP_SONAME_FNNAME_ZU(NONE, f10)(W a1, W a2, W a3, W a4, W a5, W a6, W a7, W a8, W a9, W a10) {
    W r;
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    CALL_FN_W_10W(r, fn, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10);
    return -r;
}
NOINLINE W f11(W a1, W a2, W a3, W a4, W a5, W a6, W a7, W a8, W a9, W a10, W a11) { CHECK(); return 1 * a1 + 2 * a2 + 3 * a3 + 4 * a4 + 5 * a5 + 6 * a6 + 7 * a7 + 8 * a8 + 9 * a9 + 10 * a10 + 11 * a11 + 11; }
W I_WRAP_SONAME_FNNAME_ZU(NONE, f11)(W a1, W a2, W a3, W a4, W a5, W a6, W a7, W a8, W a9, W a10, W a11) {
    W r;
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    CALL_FN_W_11W(r, fn, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11);
    return -r;
}
NOINLINE W f12(W a1, W a2, W a3, W a4, W a5, W a6, W a7, W a8, W a9, W a10, W a11, W a12) { CHECK(); return 1 * a1 + 2 * a2 + 3 * a3 + 4 * a4 + 5 * a5 + 6 * a6 + 7 * a7 + 8 * a8 + 9 * a9 + 10 * a10 + 11 * a11 + 12 * a12 + 12; }
W I_WRAP_SONAME_FNNAME_ZU(NONE, f12)(W a1, W a2, W a3, W a4, W a5, W a6, W a7, W a8, W a9, W a10, W a11, W a12) {
    W r;
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    CALL_FN_W_12W(r, fn, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12);
    return -r;
}
int main(void) {
    printf("f0 %ld\n", f0());
    v0();
    printf("v0 %ld\n", seen0);
    printf("f1 %ld\n", f1(11));
    v1(11);
    printf("v1 %ld\n", seen1);
    printf("f2 %ld\n", f2(11, -12));
    v2(11, -12);
    printf("v2 %ld\n", seen2);
    printf("f3 %ld\n", f3(11, -12, 13));
    v3(11, -12, 13);
    printf("v3 %ld\n", seen3);
    printf("f4 %ld\n", f4(11, -12, 13, -14));
    v4(11, -12, 13, -14);
    printf("v4 %ld\n", seen4);
    printf("f5 %ld\n", f5(11, -12, 13, -14, 15));
    v5(11, -12, 13, -14, 15);
    printf("v5 %ld\n", seen5);
    printf("f6 %ld\n", f6(11, -12, 13, -14, 15, -16));
    v6(11, -12, 13, -14, 15, -16);
    printf("v6 %ld\n", seen6);
    printf("f7 %ld\n", f7(11, -12, 13, -14, 15, -16, 17));
    v7(11, -12, 13, -14, 15, -16, 17);
    printf("v7 %ld\n", seen7);
    printf("f8 %ld\n", f8(11, -12, 13, -14, 15, -16, 17, -18));
    printf("f9 %ld\n", f9(11, -12, 13, -14, 15, -16, 17, -18, 19));
    printf("f10 %ld\n", f10(11, -12, 13, -14, 15, -16, 17, -18, 19, -20));
    printf("f11 %ld\n", f11(11, -12, 13, -14, 15, -16, 17, -18, 19, -20, 21));
    printf("f12 %ld\n", f12(11, -12, 13, -14, 15, -16, 17, -18, 19, -20, 21, -22));
    printf("misaligned %d\n", misaligned);
    return 0;
}
