-- Strings, tables, functions, coroutines and the collector, a little of each.
local parts = {}
for i = 1, 40 do parts[#parts + 1] = string.rep("ab", 3) .. i end
local text = table.concat(parts, ",")
assert(string.len(text) > 200 and #text:reverse() == #text)
local long = ("x"):rep(2000)
local made = load("local a = ... ; local function f(n) return n < 2 and n or f(n - 1) + f(n - 2) end return f(a)")
assert(made(8) == 21)
made = nil
local other = coroutine.wrap(function() for i = 1, 5 do coroutine.yield({i, i * 2}) end end)
local sum = 0
for i = 1, 5 do local pair = other() sum = sum + pair[1] + pair[2] end
for i = 1, 50 do local t = {} for k = 1, 8 do t[k] = k t["k" .. k] = i end end
collectgarbage("step", 1000)
collectgarbage()
io.write(sum, " ", #long, "\n", text:upper(), "\n")
