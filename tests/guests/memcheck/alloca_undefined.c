/* Memory from alloca and a variable-length array is undefined each time. */
#include <alloca.h>
#include <string.h>

static int __attribute__((noinline)) variable(int n) {
    int a[n];
    int r = 0;
    a[0] = 1;
    if (a[0] == 1)
        r++;
    if (a[n - 1] == 1)
        r += 0;
    return r;
}

static int __attribute__((noinline)) taken(int n) {
    char *p = alloca(n);
    memset(p, 0, (size_t)n - 1);
    if (p[n - 2])
        return 1;
    return p[n - 1] ? 1 : 1;
}

int main(void) { return variable(50) + taken(300) - 2; }
