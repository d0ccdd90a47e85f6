/* Blocks that only pointers into them keep: strings, arrays and objects of the kinds that heuristics know, and
 * blocks that look nearly like them.
 * @options: --leak-check=full --show-leak-kinds=all --leak-check-heuristics=stdstring,newarray,multipleinheritance */
#include <cstdlib>
#include <cstring>
#include <cstdio>
#include <valgrind/memcheck.h>
struct I1 { virtual int a() { return 1; } virtual ~I1() {} long x; };
struct I2 { virtual int b() { return 2; } virtual ~I2() {} long y; };
struct MC : I1, I2 { virtual int a() { return 3; } long z; };
struct D { long v; D() : v(1) {} ~D() { if (v == 12345) puts("x"); } };
char *str; char *len; D *arr; I2 *mul; char *plain; D *arr0; char *str2; char *len2; D* arr1;
static void fill() {
  size_t *s = (size_t *)malloc(24 + 10 + 1); s[0] = 5; s[1] = 10; s[2] = 0; str = (char *)(s + 3);
  s = (size_t *)malloc(24 + 10 + 2); s[0] = 5; s[1] = 10; s[2] = 0; str2 = (char *)(s + 3);
  s = (size_t *)malloc(8 + 40); s[0] = 40; len = (char *)(s + 1);
  s = (size_t *)malloc(8 + 40); s[0] = 41; len2 = (char *)(s + 1);
  arr = new D[7]; arr1 = new D[1];
  mul = new MC;
  plain = (char *)malloc(70) + 8;
}

int main() {
    fill();
    VALGRIND_DO_LEAK_CHECK;
    arr = 0;
    mul = 0;
    VALGRIND_DO_CHANGED_LEAK_CHECK;
    return 0;
}
