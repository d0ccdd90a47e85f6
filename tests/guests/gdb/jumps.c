int main(void) {
    int n = 1;
    n = 2;
    n = 3;
    n = n * 10;
    return n;
}
