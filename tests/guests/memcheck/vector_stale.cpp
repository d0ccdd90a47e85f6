// Iterators, references and views that outlive what they look at.
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

int main() {
    std::vector<int> v{1, 2, 3};
    int &first = v[0];
    v.reserve(100);
    volatile int sum = first; // freed
    std::string_view view;
    {
        std::string text(50, 'x');
        view = text;
    }
    sum += view[10]; // freed
    std::map<int, int> m{{1, 2}, {3, 4}};
    auto it = m.find(3);
    m.erase(3);
    sum += it->second; // freed
    auto shared = std::make_shared<int>(5);
    std::weak_ptr<int> weak = shared;
    int *raw = shared.get();
    shared.reset();
    sum += *raw; // the control block still lives with it
    std::unique_ptr<int[]> p(new int[3]);
    sum += p[3];
    if (p[1]) // undefined
        sum++;
    v[5] = 1; // in the reserve: no error here
    return 0;
}
