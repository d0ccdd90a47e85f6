#[inline(never)]
fn deep(n: u64, p: &mut [u8; 256]) -> u64 {
    let mut q = *p;
    q[(n % 256) as usize] = 1;
    if n == u64::MAX { return 0; }
    deep(n + 1, &mut q) + q[(n % 256) as usize] as u64
}
fn main() {
    let r = std::thread::Builder::new().name("small".into()).stack_size(1 << 18);
    println!("start");
    println!("{}", r.spawn(|| deep(0, &mut [0; 256])).unwrap().join().unwrap());
}
