/* getaddrinfo of numbers, its list partly freed, inet functions on short buffers.
 * @options: --leak-check=full */
#include <arpa/inet.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

int main(void) {
    struct addrinfo hints, *list = 0;
    char *text = malloc(8);
    volatile int sum = 0;
    memset(&hints, 0, sizeof hints);
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
    hints.ai_socktype = SOCK_STREAM;
    if (getaddrinfo("127.0.0.1", "80", &hints, &list))
        return 1;
    struct sockaddr_in *address = (struct sockaddr_in *)list->ai_addr;
    if (address->sin_port == htons(80))
        sum++;
    inet_ntop(AF_INET, &address->sin_addr, text, 16); /* nine characters and a zero into eight bytes */
    freeaddrinfo(list);
    sum += address->sin_port; /* freed */
    struct in_addr number;
    if (inet_pton(AF_INET, "nonsense", &number) == 0 && number.s_addr == 3) /* not written */
        sum++;
    free(text);
    return 0;
}
