/* No error: reads behind a global array stay in the data segment. */
static volatile int table[8], behind[8];

int main(void) {
    volatile int at = 9;
    return table[at] + behind[0];
}
