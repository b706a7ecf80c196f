-- In front of every script but finish_restore.lua: the keys of a range (load.go). In front of this file stands the layout.
local meta, lanes, answers = KEYS[1], KEYS[2], KEYS[3]
local events, events_order, pending = KEYS[4], KEYS[5], KEYS[6]
local history, history_order, sessions, names, acts = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11]
local external_ids = KEYS[12]

-- A key of another type would make a command fail in the middle of a write.
local is_sorted_set = {[events_order] = true, [pending] = true, [history_order] = true, [acts] = true, [external_ids] = true}
for _, key in ipairs(KEYS) do
  local kind = redis.call('TYPE', key).ok
  local wanted = is_sorted_set[key] and 'zset' or 'hash'
  if kind ~= wanted and kind ~= 'none' then
    return {'corrupt', key, 'holds a ' .. kind .. ' instead of a ' .. wanted}
  end
end

-- Numbers remain decimal strings: Lua would round those above 2^53.
local function below(a, b)
  return #a < #b or (#a == #b and a < b)
end

-- The reply where a newer version has written records, which must not be changed; otherwise nil. Older layouts are this
-- one without some of its keys.
local stored_layout = redis.call('HGET', meta, 'layout')
local layout_error
if stored_layout and (not string.match(stored_layout, '^%d+$') or below(layout, stored_layout)) then
  layout_error = {'layout', meta, stored_layout}
end

-- The reply to a process that reads the range, which it has claimed in that epoch, and of which it knows that flush n of
-- that epoch is durable: where another one has claimed it since, or where this server lacks that flush. Otherwise nil, and
-- for one that only looks on, whose epoch is ''. With READONLY the client closes the connection: after a fail-over this
-- may be the master of before, and the next connection goes to the new one.
local function refused(epoch, n)
  if epoch == '' then
    return nil
  end
  local stored = redis.call('HMGET', meta, 'epoch', 'n')
  local stored_epoch, stored_n = stored[1] or '0', stored[2] or '0'
  if not string.match(stored_epoch .. stored_n, '^%d+$') then
    return {'corrupt', meta, 'its epoch and n are not numbers'}
  end
  if below(epoch, stored_epoch) then
    return {'fenced', stored_epoch, stored_n}
  end
  if below(stored_epoch, epoch) or below(stored_n, n) then
    return redis.error_reply('READONLY it has (' .. stored_epoch .. ', ' .. stored_n .. ')')
  end
end

-- Splits an order entry '<cursor, 20 digits>:<milliseconds>:<detail>' (flush.go). A damaged one gives nil.
local function parse_entry(entry)
  local cursor, at, detail = string.match(entry, '^0*(%d+):(-?%d+):(.*)$')
  return cursor, tonumber(at or ''), detail
end

-- Names a command of the writing scripts that the user may not use. The server has checked the rights to the keys before
-- the script. A server that cannot be asked (miniredis) refuses nothing.
local function forbidden_command()
  local may = redis.acl_check_cmd
  return may and (
    not may('HSET', meta, 'x', 'x') and 'HSET' or not may('HDEL', meta, 'x') and 'HDEL' or
    not may('HINCRBY', meta, 'x', '1') and 'HINCRBY' or not may('ZADD', meta, '0', 'x') and 'ZADD' or
    not may('ZREM', meta, 'x') and 'ZREM' or not may('DEL', meta) and 'DEL'
  )
end
