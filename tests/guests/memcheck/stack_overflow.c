/* Endless recursion: the stack cannot grow, which is no invalid write. On one line: which store meets the end, chance says. */
static int down(int n) { volatile char pad[1000]; pad[0] = (char)n; return down(n + 1) + pad[0]; }

int main(void) { return down(0); }
