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
      item.add(16).writePointer(replace(target, thunk, item.add(28).readU32()));
      item.add(24).writeU32(0);
    } catch (error) {
      item.add(24).writeU32(/already/.test(error.message) ? TAKEN : REFUSED);
    }
  }
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

rpc.exports = {
  // The library, then the wrappers, in this order; what is wrong with one is told, and the others go on.
  start(library, wrappers, debug, notify, socket, token) {
    const module = keep(Module.load(library));
    const find = (name) => module.getExportByName(name);
    const failed = [];
    for (const path of wrappers) {
      try {
        keep(Module.load(path));
      } catch (error) {
        failed.push([path, error.message]);
      }
    }
    const setup = keep(Memory.alloc(Process.pageSize));
    setup.writePointer(keep(new NativeCallback(bind, 'void', ['pointer', 'uint64'])));
    setup.add(8).writePointer(keep(new NativeCallback(flush, 'void', [])));
    setup.add(16).writePointer(keep(new NativeCallback(unbind, 'void', ['pointer'])));
    setup.add(24).writePointer(ptr(debug));
    setup.add(32).writeUtf8String(socket);
    setup.add(96).writeByteArray(token);
    new NativeFunction(find('ip_native_start'), 'void', ['pointer'])(setup);
    api.linked = new NativeFunction(find('ip_native_linked'), 'void', []);
    api.close = new NativeFunction(find('ip_native_close'), 'void', ['pointer', 'uint64']);
    Interceptor.attach(ptr(notify), { onEnter: find('ip_native_linked') });
    Interceptor.flush();
    api.linked();
    const offset = new NativeFunction(find('ip_native_thread_offset'), 'int64', [])();
    return { failed, offset: offset.toString() };
  },
  // Descriptors that only kept low numbers free for the program.
  close(descriptors) {
    const list = Memory.alloc(4 * Math.max(descriptors.length, 1));
    descriptors.forEach((fd, i) => list.add(4 * i).writeS32(fd));
    api.close(list, descriptors.length);
  },
};
