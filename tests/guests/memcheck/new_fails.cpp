// operator new[] of a negative size with nothrow: null and a report.
#include <new>

int main() {
    volatile long n = -8;
    char *p = static_cast<char *>(::operator new[](static_cast<std::size_t>(n), std::nothrow));
    return p != nullptr;
}
