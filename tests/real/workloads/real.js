'use strict';
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');
const crypto = require('crypto'), zlib = require('zlib'), fs = require('fs'), child = require('child_process');
if (!isMainThread) {
  let h = workerData.n;
  for (let i = 0; i < workerData.turns; i++) h = (Math.imul(h, 31) + (i ^ (h >>> 3))) | 0;
  Atomics.add(workerData.shared, 0, 1);
  parentPort.postMessage([workerData.n, h]);
} else main();
async function main() {
  const much = Number(process.argv[2] || 20), N = much > 5 ? 512 : 64, a = new Float64Array(N * 8), b = new Int32Array(N * N);
  for (let r = 0; r < much; r++) for (let i = 0; i < b.length; i++) b[i] = Math.imul(b[i] + i, 2654435761 | 0) ^ (b[(i * 7) % b.length] >>> 5);
  for (let i = 0; i < a.length; i++) a[i] = Math.sin(i) * Math.sqrt(i) / 3;
  console.log(b.reduce((x, y) => (x ^ y) | 0), a.reduce((x, y) => x + y).toFixed(9));
  // Types that change make optimised code fall back.
  function add(x, y) { return x + y }
  let s = 0; for (let i = 0; i < much * 10000; i++) s = add(s, i);
  for (let i = 0; i < 2000; i++) s = add(s, 0.5);
  s = add(s, 'x'); console.log(s, add({ toString() { return 'o' } }, 1), add(2n ** 100n, 3n));
  class P { constructor(x) { this.x = x } get double() { return this.x * 2 } }
  class Q extends P { constructor(x) { super(x); this['k' + x % 5] = 1 } get double() { return super.double + 1 } }
  let d = 0; for (let i = 0; i < much * 5000; i++) d += (i % 3 ? new P(i) : new Q(i)).double; console.log(d);
  const words = []; for (let i = 0; i < 5000; i++) words.push('w' + (i * 7919 % 1009) + (i % 2 ? 'a-b' : 'c_d'));
  const text = words.join(' ');
  console.log(text.match(/w(\d)\1\d*a/g).length, text.replace(/(\w+)-(\w)/g, '$2$1').length, /^(?:w\d+\S* ?)+$/.test(text), text.split(/(?<=b) /u).length);
  function* gen(n) { for (let i = 0; i < n; i++) { try { if (i % 100 == 99) throw new Error('e' + i); yield i } catch (e) { yield e.message.length } } }
  let g = 0; for (const v of gen(20000)) g += v; console.log(g);
  function deep(n) { return deep(n + 1) + 1 } try { deep(0) } catch (e) { console.log(e instanceof RangeError) }
  const m = new Map(); for (let i = 0; i < 50000; i++) m.set('k' + i % 999, (m.get('k' + i % 999) || 0) + i);
  console.log(JSON.stringify([...m].slice(0, 3)), m.size);
  const wasm = new WebAssembly.Module(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 1, 6, 1, 96, 1, 126, 1, 126, 3, 2, 1, 0, 7, 7, 1, 3, 102, 97, 99, 0, 0, 10, 23, 1, 21, 0, 32, 0, 80, 4, 126, 66, 1, 5, 32, 0, 32, 0, 66, 1, 125, 16, 0, 126, 11, 11]));
  const fac = new WebAssembly.Instance(wasm).exports.fac; let w = 0n; for (let i = 0n; i < 3000n; i++) w += fac(i % 20n); console.log(w);
  const mem = new WebAssembly.Memory({ initial: 1 }); console.log(mem.buffer.byteLength);
  console.log(crypto.createHash('sha256').update(text).digest('hex'), zlib.gunzipSync(zlib.gzipSync(text)).toString() === text);
  console.log(child.execFileSync('echo', ['from a child']).toString().trim(), child.spawnSync('sh', ['-c', 'exit 3']).status);
  let junk = []; for (let i = 0; i < much * 10000; i++) { junk.push({ i, s: 'x' + i }); if (junk.length > 20000) junk = []; } console.log(junk.length);
  const e = new Error('shown'); console.log(e.stack.split('\n').length > 2, eval('((x) => x ** 3)')(5), new Function('a', 'return a + 1')(1));
  const shared = new Int32Array(new SharedArrayBuffer(4));
  const r = await Promise.all([1, 2, 3].map(n => new Promise((res, rej) => { const w = new Worker(__filename, { workerData: { n, shared, turns: much * 15000 } }); w.on('message', res); w.on('error', rej) })));
  console.log(r, shared[0]);
  const sorted = Float64Array.from({ length: 20000 }, (_, i) => (i * 7919) % 20011 / 3).sort(); console.log(sorted[12345], [..."naïve→"].reverse().join(''), 'ß'.toUpperCase(), new Intl.NumberFormat('de').format(12345.6));
  console.log((await fs.promises.readFile(__filename, 'utf8')).length > 1000, new Date(0).toISOString(), 0.1 + 0.2, 1e21, (123.456).toFixed(1), parseFloat('1e-7'));
  await new Promise(res => setTimeout(res, 5)); setImmediate(() => process.exit(6));
}
