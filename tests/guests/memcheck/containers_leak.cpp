// Containers that hold pointers: what hangs on what.
// @options: --leak-check=full --show-leak-kinds=all
#include <list>
#include <map>
#include <vector>
struct Node {
    Node *next = nullptr;
    std::vector<int> data = {1, 2, 3};
};
std::list<Node *> kept;
int main() {
    kept.push_back(new Node);
    Node *a = new Node, *b = new Node;
    a->next = b;
    b->next = a; // a ring, lost
    auto *m = new std::map<int, Node *>;
    (*m)[1] = new Node;
    (*m)[2] = nullptr;
    m = nullptr;
    a = b = nullptr;
    return 0;
}
