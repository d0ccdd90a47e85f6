/* Death by SIGFPE. */
static int ratio(int a, volatile int b) { return a / b; }

int main(void) { return ratio(7, 0); }
