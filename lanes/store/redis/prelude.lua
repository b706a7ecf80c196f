-- In front of every script: the keys of a range. keys.go says what is in each.
local meta, lanes, answers = KEYS[1], KEYS[2], KEYS[3]
local events, events_order, pending = KEYS[4], KEYS[5], KEYS[6]
local history, history_order, sessions, names = KEYS[7], KEYS[8], KEYS[9], KEYS[10]

-- A key that holds something of somebody else's would fail a command in the middle of a write.
local sorted = {[events_order] = true, [pending] = true, [history_order] = true}
for _, key in ipairs(KEYS) do
  local kind = redis.call('TYPE', key).ok
  local wanted = sorted[key] and 'zset' or 'hash'
  if kind ~= wanted and kind ~= 'none' then
    return {'corrupt', key, 'holds a ' .. kind .. ' instead of a ' .. wanted}
  end
end

-- This layout of keys. Another one was made by a newer version, whose records must not be touched.
local layout = '1'
local found = redis.call('HGET', meta, 'layout')
if found and found ~= layout then
  return {'corrupt', meta, 'written in layout ' .. found .. ', this version knows ' .. layout}
end

-- Numbers stay the decimal strings that they are: Lua would round those above 2^53.
local function below(a, b)
  return #a < #b or (#a == #b and a < b)
end

-- Names a command of those that write which the user may not use. The rights to the keys were checked when the script
-- was called. Only a server since Redis 7 can be asked.
local function forbidden_command()
  for command, arguments in pairs(redis.acl_check_cmd and {
    HSET = {meta, 'x', 'x'}, HDEL = {meta, 'x'}, HINCRBY = {meta, 'x', '1'},
    ZADD = {meta, '0', 'x'}, ZREM = {meta, 'x'}, DEL = {meta},
  } or {}) do
    if not redis.acl_check_cmd(command, unpack(arguments)) then
      return command
    end
  end
end
