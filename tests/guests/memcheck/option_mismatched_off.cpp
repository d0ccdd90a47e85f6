// --show-mismatched-frees=no
// @options: --show-mismatched-frees=no
#include <cstdlib>

int main() {
    int *p = new int;
    std::free(p);
    std::free(p);
    return 0;
}
