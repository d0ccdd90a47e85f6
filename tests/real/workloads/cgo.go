package main

/*
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
static int add(int a, int b) { char *p = malloc(100); memset(p, a, 100); int r = p[5] + b; free(p); return r; }
extern int goCallback(int);
static int back(int n) { return goCallback(n) + 1; }
*/
import "C"
import (
	"fmt"
	"sync"
)

//export goCallback
func goCallback(n C.int) C.int { return n * 2 }

func main() {
	var wg sync.WaitGroup
	var mu sync.Mutex
	t := 0
	for i := 0; i < 20; i++ {
		wg.Add(1)
		go func(i int) {
			defer wg.Done()
			r := int(C.add(C.int(i), 3)) + int(C.back(C.int(i)))
			mu.Lock()
			t += r
			mu.Unlock()
		}(i)
	}
	wg.Wait()
	fmt.Println(t)
}
