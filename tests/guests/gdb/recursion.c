int depth(int n) { int own = n * 10; if (n == 0) return 0; int below = depth(n - 1); return below + own / 10; }
int main(void) { return depth(6); }
