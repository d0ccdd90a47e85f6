/* Between watch.c and the event loop's wait. */
#ifndef INTERPOSE_WATCH_H
#define INTERPOSE_WATCH_H

/* Whether a watched file has had something to say since the last call; ip_wake_python() came with it. */
int ip_heard(void);

#endif
