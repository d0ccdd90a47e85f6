package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sort"
	"strings"
	"sync"
	"time"
)

type node struct {
	l, r *node
	k    int
}

func (t *node) insert(k int) *node {
	if t == nil {
		return &node{k: k}
	}
	if k < t.k {
		t.l = t.l.insert(k)
	} else {
		t.r = t.r.insert(k)
	}
	return t
}
func (t *node) sum() int {
	if t == nil {
		return 0
	}
	return t.k + t.l.sum() + t.r.sum()
}
func deep(n int) int {
	var a [64]int
	a[n%64] = n
	if n == 0 {
		return 0
	}
	return deep(n-1) + a[n%64] - n + 1
}
func spin(stop *bool, n *int) {
	for !*stop {
		*n++
	}
}
func nilderef() (r string) {
	defer func() { r = fmt.Sprint(recover()) }()
	var p *node
	return fmt.Sprint(p.k)
}
func divide(a, b int) (r string) {
	defer func() { r = fmt.Sprint(recover()) }()
	return fmt.Sprint(a / b)
}
func index(a []int, i int) (r string) {
	defer func() { r = fmt.Sprint(recover()) }()
	return fmt.Sprint(a[i])
}

func main() {
	debug.SetGCPercent(20)
	fmt.Println(nilderef(), divide(1, 0), index([]int{1}, 5))
	fmt.Println(deep(10000))
	c := make(chan int, 4)
	var wg sync.WaitGroup
	var mu sync.Mutex
	m := map[string]int{}
	for g := 0; g < 50; g++ {
		wg.Add(1)
		go func(g int) {
			defer wg.Done()
			var t *node
			for i := 0; i < 300; i++ {
				t = t.insert(i * 7919 % 1009)
				mu.Lock()
				m[fmt.Sprintf("k%d", i%37)] += g
				mu.Unlock()
			}
			if g%10 == 0 {
				runtime.GC()
			}
			c <- t.sum() + deep(g*20)
		}(g)
	}
	go func() { wg.Wait(); close(c) }()
	total := 0
	for v := range c {
		total += v
	}
	fmt.Println(total)
	keys := make([]string, 0)
	for k, v := range m {
		keys = append(keys, fmt.Sprintf("%s=%d", k, v))
	}
	sort.Strings(keys)
	fmt.Println(strings.Join(keys, " "))
	// A loop without calls: only a signal can take the processor from it.
	runtime.GOMAXPROCS(1)
	stop, n := false, 0
	go spin(&stop, &n)
	time.Sleep(30 * time.Millisecond)
	stop = true
	fmt.Println(n >= 0)
	select {
	case <-time.After(time.Millisecond):
		fmt.Println("timer")
	}
	var s strings.Builder
	for i := 0; i < 2000; i++ {
		fmt.Fprintf(&s, "%x%v%q", i, float64(i)/3, "a")
	}
	fmt.Println(len(s.String()))
	defer fmt.Println("not printed")
	os.Exit(7)
}
