'use strict';

// What runs in the program beside interpose-native.so: it gives that library what only Frida's interceptor can do.

const REFUSED = 2, TAKEN = 3;
const ITEM = 32; // struct ip_native_item
const JUMP = 5; // bytes of jmp rel32
const MOST_ROOM = 16; // what replaceFast() asks for
const kept = [];
const api = {};
const short = new Map(); // what is bound without the interceptor: its bytes, by address

function bind(items, count) {
  const n = Number(count);
  for (let i = 0; i < n; i++) {
    const item = items.add(i * ITEM);
    const [target, thunk] = [item.readPointer(), item.add(8).readPointer()];
    try {
      const original = replace(target, thunk, item.add(28).readU32());
      item.add(16).writePointer(original);
      note(thunk);
      note(original);
      item.add(24).writeU32(0);
    } catch (error) {
      item.add(24).writeU32(/already/.test(error.message) ? TAKEN : REFUSED);
    }
  }
}

// Pages that threads pass through on their way: they must have left before the agent goes.
const passed = new Set();

function note(address) {
  passed.add(address.and(ptr(Process.pageSize - 1).not()).toString());
}

function replace(target, thunk, room) {
  if (room >= MOST_ROOM) {
    try {
      return Interceptor.replaceFast(target, thunk);
    } catch (error) {
      if (/already/.test(error.message)) throw error;
    }
  }
  return replaceShort(target, thunk);
}

// replaceFast() asks for sixteen bytes, also where it writes a jump of five. Here those five are enough.
function replaceShort(target, thunk) {
  const distance = thunk.sub(target.add(JUMP));
  if (!distance.equals(ptr(distance.toInt32()))) throw new Error('far');
  const room = nearRoom(target);
  let size = 0, ended = false, more = 0;
  Memory.patchCode(room, ROOM, (code) => {
    const writer = new X86Writer(code, { pc: room });
    const relocator = new X86Relocator(target, writer);
    while (size < JUMP && !relocator.eoi) {
      size = relocator.readOne();
      if (size === 0) throw new Error('odd');
    }
    ended = relocator.eoi;
    relocator.writeAll();
    if (!ended) writer.putJmpAddress(target.add(size));
    writer.flush();
  });
  // After a function's last instruction there may be padding to write over.
  for (let at = size; at < JUMP; at += more) {
    const next = Instruction.parse(target.add(at));
    if (next.mnemonic !== 'nop' && next.mnemonic !== 'int3') throw new Error('too short');
    more = next.size;
  }
  short.set(target.toString(), { bytes: target.readByteArray(JUMP), thunk, written: false });
  return room;
}

const ROOM = 64;
const rooms = [];

function nearRoom(target) {
  const most = 0x7f000000;
  let found = rooms.find((each) => each.left > 0 && each.at.sub(target).add(most).compare(2 * most) < 0);
  if (found === undefined) {
    found = { at: keep(Memory.alloc(Process.pageSize, { near: target, maxDistance: most })), left: Process.pageSize };
    rooms.push(found);
  }
  const at = found.at;
  found.at = at.add(ROOM);
  found.left -= ROOM;
  return at;
}

function flush() {
  Interceptor.flush();
  for (const [address, each] of short) {
    if (each.written) continue;
    const target = ptr(address);
    Memory.patchCode(target, JUMP, (code) => {
      const writer = new X86Writer(code, { pc: target });
      writer.putJmpAddress(each.thunk);
      writer.flush();
    });
    each.written = true;
  }
}

function unbind(target) {
  const each = short.get(target.toString());
  if (each === undefined) {
    Interceptor.revert(target);
    return;
  }
  short.delete(target.toString());
  if (each.written) Memory.patchCode(target, JUMP, (code) => code.writeByteArray(each.bytes));
}

function keep(value) {
  kept.push(value);
  return value;
}

const RTLD_NOW = 2;

const libc = {
  dlopen: new NativeFunction(Module.getGlobalExportByName('dlopen'), 'pointer', ['pointer', 'int']),
  dlsym: new NativeFunction(Module.getGlobalExportByName('dlsym'), 'pointer', ['pointer', 'pointer']),
  dlclose: new NativeFunction(Module.getGlobalExportByName('dlclose'), 'int', ['pointer']),
  dlerror: new NativeFunction(Module.getGlobalExportByName('dlerror'), 'pointer', []),
};

function load(path) {
  const handle = libc.dlopen(Memory.allocUtf8String(path), RTLD_NOW);
  if (handle.isNull()) throw new Error(libc.dlerror().readUtf8String());
  api.handles.push(handle);
  return handle;
}

// A function of interpose-native.so.
function ours(name, result, parameters) {
  return new NativeFunction(symbol(name), result, parameters);
}

function symbol(name) {
  return libc.dlsym(api.handles[0], Memory.allocUtf8String(name));
}

// The dynamic linker's call for debuggers. A listener of the interceptor's would not be heard in forked children.
function followLinker(target) {
  const stub = nearRoom(target);
  const original = replaceShort(target, stub);
  writeStub(stub, (writer) => {
    writer.putSubRegImm('rsp', 8);
    writer.putCallAddress(symbol('ip_native_linked'));
    writer.putAddRegImm('rsp', 8);
    writer.putJmpAddress(original);
  });
  api.followed.push(target);
}

function writeStub(stub, write) {
  Memory.patchCode(stub, ROOM, (code) => {
    const writer = new X86Writer(code, { pc: stub });
    write(writer);
    writer.flush();
  });
}

const EXECUTE = ['execve', 'execveat', 'fexecve'];

// The handlers of forks go with our library (glibc: those of an object end with what else it has registered).
function followForks(setup) {
  const register = new NativeFunction(Module.getGlobalExportByName('__register_atfork'), 'int',
    ['pointer', 'pointer', 'pointer', 'pointer']);
  const [before, parent, child] = ['fork', 'in_parent', 'in_child'].map((name) => symbol(`ip_native_${name}`));
  register(before, parent, child, setup);
  api.unregister = () => new NativeFunction(Module.getGlobalExportByName('__cxa_finalize'), 'void', ['pointer'])(setup);
}

function followExec(name) {
  const target = Module.findGlobalExportByName(name);
  if (target === null) return ptr(0);
  const stub = nearRoom(target);
  writeStub(stub, (writer) => writer.putJmpAddress(symbol(`ip_native_${name}`)));
  const original = replaceShort(target, stub); // a system call among the first instructions is not moved
  api.followed.push(target);
  return original;
}

rpc.exports = {
  // The library, then the wrappers, in this order; what is wrong with one is told, and the others go on.
  start(library, wrappers, debug, notify, socket, token, follows) {
    api.handles = [];
    api.followed = [];
    load(library);
    const failed = [];
    for (const path of wrappers) {
      try {
        load(path);
      } catch (error) {
        failed.push([path, error.message]);
      }
    }
    const setup = keep(Memory.alloc(Process.pageSize));
    setup.writePointer(keep(new NativeCallback(bind, 'void', ['pointer', 'uint64'])));
    setup.add(8).writePointer(keep(new NativeCallback(flush, 'void', [])));
    setup.add(16).writePointer(keep(new NativeCallback(unbind, 'void', ['pointer'])));
    setup.add(24).writePointer(keep(new NativeCallback(() => {}, 'void', [])));
    setup.add(32).writePointer(ptr(debug));
    setup.add(40).writeUtf8String(socket);
    setup.add(104).writeByteArray(token);
    followForks(setup);
    if (follows) EXECUTE.forEach((name, i) => setup.add(120 + 8 * i).writePointer(followExec(name)));
    ours('ip_native_start', 'void', ['pointer'])(setup);
    followLinker(ptr(notify));
    flush();
    ours('ip_native_linked', 'void', [])();
    const offset = ours('ip_native_thread_offset', 'int64', [])();
    return { failed, offset: offset.toString() };
  },
  // Descriptors that only kept low numbers free for the program.
  close(descriptors) {
    const list = Memory.alloc(4 * Math.max(descriptors.length, 1));
    descriptors.forEach((fd, i) => list.add(4 * i).writeS32(fd));
    ours('ip_native_close', 'void', ['pointer', 'uint64'])(list, descriptors.length);
  },
  // The thread that runs this; the others of the agent's are those that came with it.
  threads() {
    return [Process.getCurrentThreadId()];
  },
  // Every function is as it was; calls that are under way end in what is still mapped.
  stop() {
    api.stopped = true;
    api.unregister();
    api.followed.forEach(unbind);
    ours('ip_native_stop', 'void', [])();
    Interceptor.flush();
    return [...passed];
  },
  // The script goes. If nobody has asked for it, the supervisor was killed, and nobody looks where the threads are.
  dispose() {
    if (api.handles === undefined || api.stopped) return;
    rpc.exports.stop();
    Thread.sleep(0.1);
  },
  // No thread is in the libraries or the thunks any more.
  finish() {
    ours('ip_native_discard', 'void', [])();
    for (const handle of api.handles.reverse()) libc.dlclose(handle);
  },
};
