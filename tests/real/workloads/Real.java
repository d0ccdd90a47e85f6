import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import java.util.stream.*;

public class Real {
    static int depth;
    static int deep(int n) { depth = n; return deep(n + 1) + 1; }
    interface Shape { double area(); }
    record Circle(double r) implements Shape { public double area() { return Math.PI * r * r; } }
    record Square(double a) implements Shape { public double area() { return a * a; } }
    static class Holder { int v; Holder next; }
    static int field(Holder h) { return h.v; }
    static int element(int[] a, int i) { return a[i]; }
    static int divide(int a, int b) { return a / b; }
    public static void main(String[] args) throws Exception {
        int much = Integer.parseInt(args[0]);
        long h = 7;
        for (int i = 0; i < much * 150_000; i++) h = h * 31 + (i ^ (h >>> 5));
        System.out.println(h);
        int npe = 0, bounds = 0, arith = 0, cast = 0;
        Holder some = new Holder();
        for (int i = 0; i < much * 2_000; i++) {
            try { npe += field(i % 40 == 0 ? null : some); } catch (NullPointerException e) { npe++; }
            try { bounds += element(new int[3], i % 50 == 0 ? 7 : 1); } catch (ArrayIndexOutOfBoundsException e) { bounds++; }
            try { arith += divide(0, i % 100 == 0 ? 0 : 3); } catch (ArithmeticException e) { arith++; }
        }
        Object o = "text";
        try { cast = ((Integer) o).intValue(); } catch (ClassCastException e) { cast = -1; }
        System.out.println(npe + " " + bounds + " " + arith + " " + cast);
        for (int i = 0; i < 2; i++) try { deep(0); } catch (StackOverflowError e) { System.out.println("overflow " + (depth > 500)); }
        try { int[][] big = new int[1 << 14][]; for (int i = 0; i < big.length; i++) big[i] = new int[1 << 20]; } catch (OutOfMemoryError e) { System.out.println("memory"); }
        double area = 0;
        for (int i = 0; i < much * 25_000; i++) { Shape s = i % 3 == 0 ? new Circle(i % 7) : new Square(i % 5); area += s.area(); }
        System.out.printf("%.6f%n", area);
        ExecutorService pool = Executors.newFixedThreadPool(4);
        List<Future<Integer>> jobs = new ArrayList<>();
        ConcurrentHashMap<String, LongAdder> map = new ConcurrentHashMap<>();
        for (int j = 0; j < 12; j++) {
            int k = j;
            jobs.add(pool.submit(() -> {
                TreeMap<Integer, String> t = new TreeMap<>();
                for (int i = 0; i < 4000; i++) { t.put(i * 7919 % 4001 + k, "v" + i); map.computeIfAbsent("k" + i % 13, x -> new LongAdder()).add(i); }
                return t.values().stream().mapToInt(String::length).sum();
            }));
        }
        int sum = 0; for (Future<Integer> f : jobs) sum += f.get();
        pool.shutdown();
        System.out.println(sum + " " + pool.awaitTermination(60, TimeUnit.SECONDS) + " " + new TreeMap<>(map));
        System.out.println(IntStream.range(0, 100_000).parallel().filter(i -> i % 7 == 0).mapToLong(i -> (long) i * i).sum());
        Object lock = new Object(); int[] shared = {0};
        Thread[] ts = new Thread[4];
        for (int i = 0; i < ts.length; i++) { ts[i] = new Thread(() -> { for (int j = 0; j < much * 1_000; j++) synchronized (lock) { shared[0]++; } }); ts[i].start(); }
        for (Thread t : ts) t.join();
        System.out.println(shared[0]);
        // A loop without calls beside collections: safepoints are polled by loads from a protected page.
        AtomicBoolean stop = new AtomicBoolean();
        Thread spin = new Thread(() -> { long n = 0; while (!stop.get()) n++; }); spin.start();
        Holder keep = null; for (int i = 0; i < much * 50_000; i++) { Holder n = new Holder(); n.v = i; if (i % 1000 == 0) { n.next = keep; keep = n; } }
        System.gc(); stop.set(true); spin.join();
        int kept = 0; for (Holder p = keep; p != null; p = p.next) kept += p.v / 1000; System.out.println(kept);
        StringBuilder b = new StringBuilder(); for (int i = 0; i < 20_000; i++) b.append(i % 10).append(i % 3 == 0 ? "é" : "z");
        System.out.println(b.toString().replaceAll("([0-9])z", "$1$1").hashCode() + " " + String.format("%x %e %,d", 255, 1234.5, 1234567));
        int[] arr = new Random(5).ints(50_000).toArray(); Arrays.sort(arr); System.out.println(Arrays.hashCode(arr));
        System.out.println(java.math.BigInteger.TWO.pow(500).mod(java.math.BigInteger.valueOf(1_000_003)) + " " + new java.math.BigDecimal("1").divide(new java.math.BigDecimal("7"), 30, java.math.RoundingMode.HALF_UP));
        java.security.MessageDigest md = java.security.MessageDigest.getInstance("SHA-256"); byte[] dig = null; for (int i = 0; i < much * 100; i++) dig = md.digest(b.toString().substring(0, 500).getBytes("UTF-8")); System.out.println(Arrays.toString(dig));
        java.util.zip.CRC32 crc = new java.util.zip.CRC32(); crc.update(b.toString().getBytes("UTF-8")); System.out.println(crc.getValue());
        Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("hook")));
        Thread t = new Thread(() -> { throw new IllegalStateException("uncaught"); }); t.setUncaughtExceptionHandler((x, e) -> System.out.println(e.getMessage())); t.start(); t.join();
        Process p = new ProcessBuilder("sh", "-c", "echo child; exit 4").start(); System.out.println(new String(p.getInputStream().readAllBytes()).trim() + p.waitFor());
        System.exit(5);
    }
}
