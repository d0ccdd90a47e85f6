__attribute__((noipa)) int twice(int n) { return 2 * n; }
