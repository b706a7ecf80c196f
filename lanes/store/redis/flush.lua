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
local lane_count, answer_count, forget_count, event_count, ended_count, act_count =
  tonumber(take()), tonumber(take()), tonumber(take()), tonumber(take()), tonumber(take()), tonumber(take())

if refill then -- it has every lane and every answer
  redis.call('DEL', lanes, answers)
end
for _ = 1, lane_count do
  redis.call('HSET', lanes, take(), take())
end
for _ = 1, answer_count do
  redis.call('HSET', answers, take(), take())
end
for _ = 1, forget_count do
  redis.call('HDEL', answers, take())
end
for _ = 1, event_count do
  local place, record, open = take(), take(), take() == 'pending'
  local cursor = read_place(place)
  if redis.call('HSET', events, cursor, record) == 1 then
    redis.call('ZADD', events_order, 0, place)
  end
  local rank = string.sub(place, 1, 20)
  if open then
    redis.call('ZADD', pending, 0, rank)
  else
    redis.call('ZREM', pending, rank)
  end
end
for _ = 1, ended_count do
  local place, record, name = take(), take(), take()
  local cursor, _, session = read_place(place)
  if redis.call('HSET', history, cursor, record) == 1 then
    redis.call('ZADD', history_order, 0, place)
  end
  redis.call('HSET', sessions, session, cursor)
  if name ~= '' then
    redis.call('HSET', names, cursor, name)
  end
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

local function trim(order, before, stop, drop)
  local over = redis.call('ZCARD', order) - cap
  for i = 1, budget do
    local place = redis.call('ZRANGE', order, 0, 0)[1]
    if not place or (stop and string.sub(place, 1, 20) >= stop) then
      return
    end
    local cursor, at, session = read_place(place)
    if not cursor or (at >= before and i > over) then
      return
    end
    redis.call('ZREM', order, place)
    if drop then
      drop(cursor, session)
    end
  end
end

trim(events_order, tonumber(events_before), redis.call('ZRANGE', pending, 0, 0)[1], function(cursor)
  redis.call('HDEL', events, cursor)
end)
trim(history_order, tonumber(history_before), nil, function(cursor, session)
  redis.call('HDEL', history, cursor)
  redis.call('HDEL', names, cursor)
  if redis.call('HGET', sessions, session) == cursor then
    redis.call('HDEL', sessions, session)
  end
end)

if stored[6] or act_count > 0 then -- most ranges have none
  trim(acts, tonumber(history_before))
end

-- The names that are over their term: nameless is the last place whose name went.
local nameless = stored[5]
for _ = 1, budget do
  local from = nameless and '(' .. nameless or '-'
  local place = redis.call('ZRANGEBYLEX', history_order, from, '+', 'LIMIT', 0, 1)[1]
  local cursor, at = read_place(place or '')
  if not cursor or at >= tonumber(names_before) then
    break
  end
  redis.call('HDEL', names, cursor)
  nameless = place
end

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
