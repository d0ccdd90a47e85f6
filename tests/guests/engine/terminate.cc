// signal: SIGABRT
/* An exception that nobody catches ends the program as it does natively. */
#include <stdexcept>
int main() { throw std::runtime_error("nobody"); }
