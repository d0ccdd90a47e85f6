/* ioctl() of sockets: structures that others lead to, undefined on the way in, defined on the way out. */
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static int fd;

/* Of the loopback device; only the name and the pointer are set. */
static int tool(void *data) {
    struct ifreq *r = malloc(sizeof *r);
    strcpy(r->ifr_name, "lo");
    r->ifr_data = data;
    int result = ioctl(fd, SIOCETHTOOL, r);
    free(r);
    return result;
}

int main(void) {
    fd = socket(AF_INET, SOCK_DGRAM, 0);
    struct ethtool_value *link = malloc(sizeof *link);
    link->cmd = ETHTOOL_GLINK;
    if (tool(link) || link->data > 1)
        return 1;
    struct ethtool_ts_info *stamps = malloc(sizeof *stamps);
    stamps->cmd = ETHTOOL_GET_TS_INFO;
    if (tool(stamps) == 0 && stamps->so_timestamping == 0)
        return 2;
    struct ethtool_gfeatures *features = malloc(sizeof *features + 2 * sizeof features->features[0]);
    features->cmd = ETHTOOL_GFEATURES;
    features->size = 2;
    if (tool(features) || features->size == 0 || features->features[1].available == 1)
        return 3;
    struct ifconf list;
    char *room = malloc(4096);
    list.ifc_len = 4096;
    list.ifc_buf = room;
    if (ioctl(fd, SIOCGIFCONF, &list) || list.ifc_len < 0 || (list.ifc_len > 0 && !room[0]))
        return 4;
    int *owner = malloc(sizeof *owner);
    if (ioctl(fd, FIOGETOWN, owner) || *owner != 0)
        return 5;
    struct ifreq *one = malloc(sizeof *one);
    one->ifr_ifindex = 1;
    if (ioctl(fd, SIOCGIFNAME, one) || strcmp(one->ifr_name, "lo"))
        return 6;
    if (ioctl(fd, SIOCGIFMTU, one) || one->ifr_mtu < 1000)
        return 7;
    /* Errors: a value that nobody set, a structure that is too small, a command that is not set, room that is not there. */
    struct ifreq *other = malloc(sizeof *other);
    strcpy(other->ifr_name, "nobody");
    ioctl(fd, SIOCSIFMTU, other);
    struct ethtool_drvinfo *driver = malloc(100);
    driver->cmd = ETHTOOL_GDRVINFO;
    strcpy(other->ifr_name, "nobody");
    other->ifr_data = (void *)driver;
    ioctl(fd, SIOCETHTOOL, other);
    other->ifr_data = malloc(8);
    ioctl(fd, SIOCETHTOOL, other);
    list.ifc_buf = malloc(90);
    list.ifc_len = 100;
    ioctl(fd, SIOCGIFCONF, &list);
    free(list.ifc_buf), free(other->ifr_data), free(driver), free(other), free(one), free(owner), free(room);
    free(features), free(stamps), free(link);
    return 0;
}
