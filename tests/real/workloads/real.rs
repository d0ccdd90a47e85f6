use std::cell::RefCell;
use std::collections::{BTreeMap, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::panic;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{mpsc, Arc, Condvar, Mutex, RwLock};
use std::thread;

struct Loud(&'static str, Arc<AtomicUsize>);
impl Drop for Loud {
    fn drop(&mut self) {
        self.1.fetch_add(self.0.len(), Ordering::SeqCst);
    }
}
thread_local! { static LOCAL: RefCell<Vec<u32>> = RefCell::new(Vec::new()); }

fn unwinds(n: usize, count: &Arc<AtomicUsize>) -> usize {
    let _l = Loud("abc", count.clone());
    if n == 0 {
        panic!("at the bottom");
    }
    unwinds(n - 1, count) + 1
}

fn main() {
    panic::set_hook(Box::new(|i| println!("hook: {}", i)));
    let count = Arc::new(AtomicUsize::new(0));
    let c = count.clone();
    println!("{}", panic::catch_unwind(move || unwinds(50, &c)).is_err());
    println!("{}", count.load(Ordering::SeqCst));
    println!("{:?}", panic::catch_unwind(|| { let v: Vec<i32> = (0..3).collect(); v[std::env::args().count() + 5] }).is_err());

    let mut tree = BTreeMap::new();
    let mut set = HashSet::new();
    let mut heap = BinaryHeap::new();
    let mut dq = VecDeque::new();
    let mut list = LinkedList::new();
    let mut map: HashMap<String, Vec<u64>> = HashMap::new();
    for i in 0..20000u64 {
        let k = i.wrapping_mul(0x9E3779B97F4A7C15) >> 40;
        *tree.entry(k % 509).or_insert(0u64) += i;
        set.insert(k);
        heap.push(k);
        dq.push_front(k);
        if i % 3 == 0 { dq.pop_back(); }
        if i % 100 == 0 { list.push_back(k); }
        map.entry(format!("k{}", k % 97)).or_default().push(i);
    }
    println!("{} {} {} {} {}", tree.len(), set.len(), dq.len(), list.len(), heap.pop().unwrap());
    let mut all: Vec<_> = map.iter().map(|(k, v)| (k.clone(), v.iter().sum::<u64>())).collect();
    all.sort();
    println!("{:?}", &all[..5]);
    let mut f: Vec<f64> = (0..1000).map(|i| ((i * 7919) % 1009) as f64 / 7.0).collect();
    f.sort_by(|a, b| a.partial_cmp(b).unwrap());
    println!("{:.6} {:e} {:?}", f[500], f[999], f[1].sqrt());
    let (tx, rx) = mpsc::channel();
    let shared = Arc::new((Mutex::new(0u64), Condvar::new()));
    let rw = Arc::new(RwLock::new(vec![1u8; 10]));
    let handles: Vec<_> = (0..8u64)
        .map(|i| {
            let (tx, shared, rw) = (tx.clone(), shared.clone(), rw.clone());
            thread::spawn(move || {
                LOCAL.with(|l| l.borrow_mut().push(i as u32));
                for j in 0..200 {
                    tx.send(i * j).unwrap();
                }
                rw.write().unwrap()[i as usize] += i as u8;
                *shared.0.lock().unwrap() += 1;
                shared.1.notify_all();
                LOCAL.with(|l| l.borrow().len()) + rw.read().unwrap().len()
            })
        })
        .collect();
    drop(tx);
    println!("{}", rx.iter().sum::<u64>());
    let mut g = shared.0.lock().unwrap();
    while *g < 8 { g = shared.1.wait(g).unwrap(); }
    drop(g);
    println!("{:?}", handles.into_iter().map(|h| h.join().unwrap()).collect::<Vec<_>>());
    let r = thread::Builder::new().name("named".into()).spawn(|| { panic!("in a thread") }).unwrap().join();
    println!("{}", r.unwrap_err().downcast_ref::<&str>().unwrap());
    println!("{:?}", rw.read().unwrap());
    let cycle = Rc::new(RefCell::new(5));
    *cycle.borrow_mut() += 1;
    println!("{}", cycle.borrow());
    let s: String = "äöü→x".chars().rev().collect();
    println!("{} {}", s, s.to_uppercase());
    std::process::exit(9);
}
