-- Writes one batch of a range, all of it or nothing: whatever can go wrong does so before the first write.
--   {'applied'} | {'repeated'} | {'fenced', epoch, n} | {'rolled back', epoch, n}
--   {'not allowed', command} | {'corrupt', record, reason}
-- The arguments are those of batch.go, in its order.
local position = 0
local function take()
  position = position + 1
  return ARGV[position]
end

-- 1. The pair (epoch, n) says whether this batch is the next one.

local epoch, n, previous, refill, replicas = take(), take(), take(), take() == 'refill', take() == 'replicas'
local stored = redis.call('HMGET', meta, 'epoch', 'n', 'last_event', 'last_ended', 'nameless', 'last_act')
local stored_epoch, stored_n = stored[1] or '0', stored[2] or '0'
if not string.match(stored_epoch .. stored_n, '^%d+$') then
  return {'corrupt', meta, 'its epoch and n are not numbers'}
end
if below(epoch, stored_epoch) then
  return {'fenced', stored_epoch, stored_n}
end
if foreign then -- only now: whom a newer version has taken the range from has to let go of it
  return foreign
end
if stored_epoch == epoch and not below(stored_n, n) then
  if replicas then -- quorum.go says what for
    redis.call('HSET', meta, 'n', stored_n)
  end
  return {'repeated'}
end
if not refill and not (stored_epoch == epoch and stored_n == previous) then
  return {'rolled back', stored_epoch, stored_n}
end

-- 2. No command may fail once another one has written. Their arguments are right, batch.go sees to that; the keys are
-- of the right types, the prelude sees to that; what is left is a user who may not use a command. A server that
-- refuses writes altogether (out of memory, a replica, a full disk) refuses the first one and none behind it: so it is
-- with scripts that have no flags of their own, and these have none.

local forbidden = forbidden_command()
if forbidden then
  return {'not allowed', forbidden}
end

-- 3. The writes.

local events_before, history_before, names_before = take(), take(), take()
local cap, budget = tonumber(take()), tonumber(take())
local last_event, last_ended, last_act, checkpoint, holds = take(), take(), take(), take(), take()
local lane_count, answer_count, forget_count = tonumber(take()), tonumber(take()), tonumber(take())
local event_count, open_count = tonumber(take()), tonumber(take())
local ended_count, named_count, act_count = tonumber(take()), tonumber(take()), tonumber(take())

-- Gives a command values of a list, many at once: what a command costs besides them, here and once more in the
-- append-only file, is paid once. Lua's stack has room for some thousands.
local together = 1000
local function send(command, key, values, first, last)
  for from = first, last, together do
    redis.call(command, key, unpack(values, from, math.min(from + together - 1, last)))
  end
end

-- Gives a command the next so many arguments.
local function write(command, key, count)
  send(command, key, ARGV, position + 1, position + count)
  position = position + count
end

-- Writes the next so many records of a log: the cursor and the record of each, and then the place of each. One that is
-- written over keeps the place that it has.
local function append(records, order, count)
  local cursors, new = {}, {}
  for i = 1, count do
    cursors[i] = ARGV[position + 2 * i - 1]
  end
  local places = position + 2 * count
  for from = 1, count, together do
    local stand = redis.call('HMGET', records, unpack(cursors, from, math.min(from + together - 1, count)))
    for i = 1, #stand do
      if not stand[i] then
        new[#new + 1] = '0' -- what all scores are
        new[#new + 1] = ARGV[places + from + i - 1]
      end
    end
  end
  send('ZADD', order, new, 1, #new) -- first: by its record a repeat takes it that it has its place
  write('HSET', records, 2 * count)
  position = places + count
end

if refill then -- it has every lane and every answer
  redis.call('DEL', lanes, answers)
end
write('HSET', lanes, 2 * lane_count)
write('HSET', answers, 2 * answer_count)
write('HDEL', answers, forget_count)
append(events, events_order, event_count)
write('ZADD', pending, 2 * open_count)
write('ZREM', pending, event_count - open_count)
if ended_count > 0 then -- in few flushes
  append(history, history_order, ended_count)
  write('HSET', sessions, 2 * ended_count)
  write('HSET', names, 2 * named_count)
end
for _ = 1, act_count do
  local place = take()
  local rank = string.sub(place, 1, 20)
  for _, before in ipairs(redis.call('ZRANGEBYLEX', acts, '[' .. rank .. ':', '(' .. rank .. ';')) do
    redis.call('ZREM', acts, before)
  end
  redis.call('ZADD', acts, 0, place)
end

-- 4. A little of what is over its term or over the cap goes, from the old end.

-- The oldest places of a log, as long as they are to go, and the cursors and the sessions in them. They are read one,
-- then two, four, eight at a time: of most logs none goes.
local function oldest(read, goes)
  local places, cursors, ids = {}, {}, {}
  repeat
    local page = read(#places, #places + 1)
    for _, place in ipairs(page) do
      local cursor, at, session = read_place(place)
      if #places == budget or not cursor or not goes(place, at, #places) then
        return places, cursors, ids
      end
      places[#places + 1], cursors[#cursors + 1], ids[#ids + 1] = place, cursor, session
    end
  until #page == 0
  return places, cursors, ids
end

local function trim(order, before, stop)
  local over = redis.call('ZCARD', order) - cap
  local places, cursors, ids = oldest(function(from, count)
    return redis.call('ZRANGE', order, from, from + count - 1)
  end, function(place, at, gone)
    return (at < before or gone < over) and not (stop and string.sub(place, 1, 20) >= stop)
  end)
  send('ZREM', order, places, 1, #places)
  return cursors, ids
end

local dropped = trim(events_order, tonumber(events_before), redis.call('ZRANGE', pending, 0, 0)[1])
send('HDEL', events, dropped, 1, #dropped)

local ended, ids = trim(history_order, tonumber(history_before))
local unknown = {}
for i, session in ipairs(ids) do
  if redis.call('HGET', sessions, session) == ended[i] then
    unknown[#unknown + 1] = session
  end
end
send('HDEL', history, ended, 1, #ended)
send('HDEL', names, ended, 1, #ended)
send('HDEL', sessions, unknown, 1, #unknown)

if stored[6] or act_count > 0 then -- most ranges have none
  trim(acts, tonumber(history_before))
end

-- The names that are over their term: nameless is the last place whose name went.
local nameless = stored[5]
local behind = nameless and '(' .. nameless or '-'
local places, named = oldest(function(from, count)
  return redis.call('ZRANGEBYLEX', history_order, behind, '+', 'LIMIT', from, count)
end, function(_, at)
  return at < tonumber(names_before)
end)
send('HDEL', names, named, 1, #named)
nameless = places[#places] or nameless

-- 5. The pair comes last: were a defect to break off what is above, the same batch could be written again.

local fields = {'layout', layout, 'epoch', epoch, 'n', n}
local function set(field, value)
  fields[#fields + 1] = field
  fields[#fields + 1] = value
end
if checkpoint ~= '' then
  set('checkpoint', checkpoint)
end
if holds ~= '' then
  set('holds', holds)
end
if below(stored[3] or '', last_event) then
  set('last_event', last_event)
end
if below(stored[4] or '', last_ended) then
  set('last_ended', last_ended)
end
if below(stored[6] or '0', last_act) then
  set('last_act', last_act)
end
if nameless and nameless ~= stored[5] then
  set('nameless', nameless)
end
redis.call('HSET', meta, unpack(fields))
return {'applied'}
