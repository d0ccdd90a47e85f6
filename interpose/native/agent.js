'use strict';

// What runs in the program beside interpose-native.so: it gives that library what only Frida's interceptor can do.

const REFUSED = 2, TAKEN = 3;
const ITEM = 40; // struct ip_native_item
const JUMP = 5, SHORT_JUMP = 2; // bytes of jmp rel32, rel8
const kept = [];
const api = {};
const bound = new Map(); // what is bound: its bytes, by address
let fresh = []; // those whose jumps are not written yet

function bind(items, count) {
  const n = Number(count);
  for (let i = 0; i < n; i++) {
    const item = items.add(i * ITEM);
    const [target, thunk] = [item.readPointer(), item.add(8).readPointer()];
    try {
      const original = replace(target, thunk, item.add(32).readPointer());
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

// Interceptor.replaceFast() asks for sixteen bytes, also where it writes a jump of five, and it moves calls as they are:
// what they return to is no code of the function's then, so that exceptions end the program, and stacks have a gap.
// Where there is no room for the jump, it lies in padding nearby, the cave, and a shorter one leads there.
function replace(target, thunk, cave) {
  const ours = bound.get(target.toString());
  if (ours !== undefined) return goAround(ours, thunk);
  const place = cave.isNull() ? target : cave;
  const jump = cave.isNull() ? JUMP : SHORT_JUMP;
  const distance = thunk.sub(place.add(JUMP));
  if (!distance.equals(ptr(distance.toInt32()))) throw new Error('far');
  const room = nearRoom(target);
  let size = 0, ended = false, more = 0;
  Memory.patchCode(room, ROOM, (code) => {
    const writer = new X86Writer(code, { pc: room });
    const relocator = new X86Relocator(target, writer);
    while (size < jump && !ended) {
      size = relocator.readOne();
      if (size === 0) throw new Error('odd');
      const moved = relocator.input;
      if (moved.mnemonic === 'call' && size >= jump && moved.operands[0].type === 'imm') {
        relocator.skipOne();
        putCall(writer, ptr(moved.operands[0].value.toString()), target.add(size));
        ended = true;
      } else {
        ended = relocator.eoi;
        relocator.writeOne();
      }
    }
    if (!ended) writer.putJmpAddress(target.add(size));
    writer.flush();
  });
  // After a function's last instruction there may be padding to write over.
  for (let at = size; at < jump; at += more) {
    const next = Instruction.parse(target.add(at));
    if (next.mnemonic !== 'nop' && next.mnemonic !== 'int3') throw new Error('too short');
    more = next.size;
  }
  const each = { target, place, thunk, bytes: target.readByteArray(jump), padding: place.readByteArray(JUMP), written: false };
  bound.set(target.toString(), each);
  fresh.push(each);
  return room;
}

// Where we stand ourselves a wrapper goes around that.
function goAround(ours, thunk) {
  if (!ours.followed || ours.under !== undefined) throw new Error('already');
  [ours.under, ours.thunk] = [ours.thunk, thunk];
  fresh.push(ours);
  return ours.under;
}

// A call that returns to some other place.
function putCall(writer, callee, back) {
  const [low, high] = [back.and(0xffffffff).toUInt32(), back.shr(32).toUInt32()];
  writer.putPushU32(low);
  writer.putBytes([0xc7, 0x44, 0x24, 4, high & 255, high >> 8 & 255, high >> 16 & 255, high >> 24 & 255]); // movl
  writer.putJmpAddress(callee);
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
  for (const each of fresh) {
    Memory.patchCode(each.place, JUMP, (code) => {
      const writer = new X86Writer(code, { pc: each.place });
      writer.putJmpAddress(each.thunk);
      writer.flush();
    });
    if (!each.place.equals(each.target)) {
      const distance = each.place.sub(each.target.add(SHORT_JUMP)).toInt32();
      Memory.patchCode(each.target, SHORT_JUMP, (code) => code.writeByteArray([0xeb, distance & 255]));
    }
    each.written = true;
  }
  fresh = [];
}

function unbind(target) {
  const each = bound.get(target.toString());
  if (each === undefined) return;
  if (each.under !== undefined) {
    [each.thunk, each.under] = [each.under, undefined];
    fresh.push(each);
    return;
  }
  bound.delete(target.toString());
  if (!each.written) fresh = fresh.filter((other) => other !== each);
  else {
    Memory.patchCode(target, each.bytes.byteLength, (code) => code.writeByteArray(each.bytes));
    if (!each.place.equals(target)) Memory.patchCode(each.place, JUMP, (code) => code.writeByteArray(each.padding));
  }
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
  const original = replace(target, stub, NULL);
  writeStub(stub, (writer) => {
    writer.putSubRegImm('rsp', 8);
    writer.putCallAddress(symbol('ip_native_linked'));
    writer.putAddRegImm('rsp', 8);
    writer.putJmpAddress(original);
  });
  follow(target);
}

function follow(target) {
  bound.get(target.toString()).followed = true;
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

// A function of the C library's leads to ours of that name; returns what calls it.
function followCall(name) {
  const target = Module.findGlobalExportByName(name);
  if (target === null) return ptr(0);
  const stub = nearRoom(target);
  writeStub(stub, (writer) => writer.putJmpAddress(symbol(`ip_native_${name}`)));
  const original = replace(target, stub, NULL); // a system call among the first instructions is not moved
  follow(target);
  return original;
}

function stop() {
  api.stopped = true;
  api.unregister();
  api.followed.forEach(unbind);
  ours('ip_native_stop', 'void', [])();
  return [...passed];
}

function leave() {
  return keep(Memory.allocUtf8String(JSON.stringify(stop())));
}

function finish() {
  ours('ip_native_discard', 'void', [])();
  for (const handle of api.handles.reverse()) libc.dlclose(handle);
}

rpc.exports = {
  // Our library; where its word of each thread is, by which a thread is told apart from the program's.
  load(library) {
    api.handles = [];
    api.followed = [];
    load(library);
    return ours('ip_native_thread_offset', 'int64', [])().toString();
  },
  // The wrappers, in this order; what is wrong with one is told, and the others go on. Bindings are in effect then.
  start(wrappers, debug, notify, socket, token, follows, reports, hooks) {
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
    setup.add(144).writeUtf8String(hooks);
    followForks(setup);
    if (follows || reports) EXECUTE.forEach((name, i) => setup.add(120 + 8 * i).writePointer(followCall(name)));
    // In a forked child this script has no thread: another agent's calls these two.
    setup.add(216).writePointer(keep(new NativeCallback(leave, 'pointer', [])));
    setup.add(224).writePointer(keep(new NativeCallback(finish, 'void', [])));
    if (reports) setup.add(208).writePointer(followCall('_exit'));
    ours('ip_native_start', 'void', ['pointer'])(setup);
    followLinker(ptr(notify));
    flush();
    ours('ip_native_linked', 'void', [])();
    return failed;
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
  stop,
  // In a forked child, what the script that it has a copy of has done there.
  stopInherited() {
    api.stopped = true;
    const setup = ours('ip_native_setup_of', 'pointer', [])();
    const call = (offset, result) => new NativeFunction(setup.add(offset).readPointer(), result, []);
    api.finish = call(224, 'void');
    return JSON.parse(call(216, 'pointer')().readUtf8String());
  },
  // The script goes. If nobody has asked for it, the supervisor was killed, and nobody looks where the threads are.
  dispose() {
    if (api.handles === undefined || api.stopped) return;
    stop();
    Thread.sleep(0.1);
  },
  // No thread is in the libraries or the thunks any more.
  finish() {
    if (api.finish === undefined) finish();
    else api.finish();
    if (api.finish !== undefined) libc.dlclose(api.handles[0]); // this script's own
  },
};
