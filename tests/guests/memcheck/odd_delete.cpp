// delete with alignments that no operator new takes, directly and as a library's function passes them on.
// @options: --leak-check=full
#include <new>

static void give_back(void *block, unsigned long alignment) { ::operator delete(block, std::align_val_t(alignment)); }

int main() {
    char *a = static_cast<char *>(::operator new(40, std::align_val_t(64)));
    char *b = static_cast<char *>(::operator new[](40, std::align_val_t(64)));
    char *c = static_cast<char *>(::operator new(40));
    give_back(a, 63);
    ::operator delete[](b, std::align_val_t(96), std::nothrow);
    ::operator delete(c, std::size_t(40), std::align_val_t(12));
    ::operator delete(static_cast<void *>(nullptr), std::align_val_t(3));
    char *d = static_cast<char *>(::operator new(40, std::align_val_t(32)));
    give_back(d, 32);
    char *e = static_cast<char *>(::operator new(40));
    give_back(e, 0);
    char *f = static_cast<char *>(::operator new(40, std::align_val_t(8)));
    give_back(f, 8);
    ::operator delete(::operator new(40, std::align_val_t(16)));
    ::operator delete(::operator new(40, std::align_val_t(8)), std::align_val_t(32));
    return 0;
}
