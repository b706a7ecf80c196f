-- In front of every script: the keys of a range. keys.go says what is in each. In front of this stands the layout.
local meta, lanes, answers = KEYS[1], KEYS[2], KEYS[3]
local events, events_order, pending = KEYS[4], KEYS[5], KEYS[6]
local history, history_order, sessions, names, acts = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11]

-- A key that holds something of somebody else's would fail a command in the middle of a write.
local sorted = {[events_order] = true, [pending] = true, [history_order] = true, [acts] = true}
for _, key in ipairs(KEYS) do
  local kind = redis.call('TYPE', key).ok
  local wanted = sorted[key] and 'zset' or 'hash'
  if kind ~= wanted and kind ~= 'none' then
    return {'corrupt', key, 'holds a ' .. kind .. ' instead of a ' .. wanted}
  end
end

-- Numbers stay the decimal strings that they are: Lua would round those above 2^53.
local function below(a, b)
  return #a < #b or (#a == #b and a < b)
end

-- The answer where a newer version has written, whose records must not be touched; nil where none has. Older layouts
-- are this one without some of it.
local found = redis.call('HGET', meta, 'layout')
local foreign
if found and (not string.match(found, '^%d+$') or below(layout, found)) then
  foreign = {'foreign', meta, found}
end

-- A place in a log is '<cursor, 20 digits>:<milliseconds>:<more>', so that their order as text is the order of the
-- cursors. More is the session in the history, and the record itself of what staff did. One that is damaged reads as nil.
local function read_place(place)
  local cursor, at, more = string.match(place, '^0*(%d+):(-?%d+):(.*)$')
  return cursor, tonumber(at or ''), more
end

-- Names a command of those that write which the user may not use. The rights to the keys were checked when the script
-- was called. Only a server since Redis 7 can be asked.
local function forbidden_command()
  local may = redis.acl_check_cmd
  return may and (
    not may('HSET', meta, 'x', 'x') and 'HSET' or not may('HDEL', meta, 'x') and 'HDEL' or
    not may('HINCRBY', meta, 'x', '1') and 'HINCRBY' or not may('ZADD', meta, '0', 'x') and 'ZADD' or
    not may('ZREM', meta, 'x') and 'ZREM' or not may('DEL', meta) and 'DEL'
  )
end
