// new[] of what has a destructor keeps the number in front: an access there, a delete without [], a wrong cast.
// @options: --leak-check=full
struct Counted {
    int value;
    ~Counted() { value = 0; }
};

int main() {
    Counted *many = new Counted[3];
    long *cookie = reinterpret_cast<long *>(many) - 1;
    int seen = *cookie == 3 ? 0 : 1;
    cookie[-1] = 1; // before the block
    many[3].value = 1; // behind it
    delete[] many;
    seen += many[0].value; // freed
    Counted *one = new Counted[2];
    delete reinterpret_cast<char *>(one); // inside of the block
    Counted *plain = new Counted;
    delete[] reinterpret_cast<char *>(plain);
    new Counted[5]; // lost, found by no interior pointer
    return seen & 0;
}
