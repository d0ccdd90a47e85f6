/* Functions that a trace names. */
__attribute__((noinline)) int leaf(int *p) { return *p + 1; }
__attribute__((noinline)) int middle(int *p) { return leaf(p) * 2; }
int table[64];
int main(void) { return middle(table) - 2; }
