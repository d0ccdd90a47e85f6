// std::string and streams over undefined characters, behind their ends, and moved from.
#include <sstream>
#include <string>
int main() {
    char *raw = new char[8];
    std::string s(raw, 8);
    volatile int sum = 0;
    if (s[3] == 'x') // undefined
        sum++;
    std::string t = "short";
    if (t[5])
        sum++;
    sum += t.find('z') == std::string::npos;
    if (s == "abcdefgh") // undefined
        sum++;
    std::ostringstream out;
    out << t << 12;
    sum += out.str().size();
    std::string moved = std::move(t);
    sum += moved.size();
    int undefined;
    out << undefined;
    delete[] raw;
    sum += raw[1];
    return 0;
}
