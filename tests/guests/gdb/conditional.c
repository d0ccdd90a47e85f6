int sum;
void visit(int n) { sum += n; }
int main(void) { for (int i = 0; i < 200; i++) visit(i); return sum == 19900 ? 0 : 1; }
