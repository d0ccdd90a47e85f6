// A program to profile: calls, recursion through two functions, code inlined from a header, jumps, a thread.
#include "profiled.h"
#include <pthread.h>
#include <stdio.h>

static __attribute__((noinline)) int even(int n);

static __attribute__((noinline)) int odd(int n)
{
  return n == 0 ? 0 : even(n - 1) + 1;
}

static __attribute__((noinline)) int even(int n)
{
  return n == 0 ? 0 : odd(n - 1) + 1;
}

static __attribute__((noinline)) int work(int rounds)
{
  int sum = 0;
  for (int i = 0; i < rounds; i++)
    if (i % 3 == 0)
      sum += square(i);
    else
      sum -= i;
  return sum;
}

static void *thread(void *result)
{
  *(int *)result = work(500);
  return 0;
}

int main(void)
{
  pthread_t id;
  int other = 0, sum = 0;
  pthread_create(&id, 0, thread, &other);
  pthread_join(id, 0);
  for (int i = 0; i < 10; i++)
    sum += work(100);
  printf("%d %d\n", sum + other, even(20));
  return 0;
}
