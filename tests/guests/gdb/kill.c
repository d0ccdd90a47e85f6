int main(void) { for (;;); }
