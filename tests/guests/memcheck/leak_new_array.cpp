// Pointers as C++ makes them: after the count of new[], to a second base, into a string; found by the heuristics.
// @options: --leak-check=full --show-leak-kinds=all
#include <string>

struct thing {
    int v[3];
    ~thing() { v[0] = 0; }
};
struct base_a { virtual ~base_a() {} int a = 1; };
struct base_b { virtual ~base_b() {} int b = 2; };
struct both : base_a, base_b {};

static thing *things;
static base_b *second;
static std::string *text;

int main() {
    things = new thing[4];
    second = new both;
    text = new std::string("a text that is too long for the string itself");
    return 0;
}
