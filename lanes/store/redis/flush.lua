-- Writes one batch of a range, all of it or nothing: every check that can fail comes before the first write.
--   {'applied'} | {'repeated'} | {'fenced', epoch, n} | {'rolled back', epoch, n}
--   {'not allowed', command} | {'layout', record, layout} | {'corrupt', record, reason}
-- ARGV: a batchHead of flush.go as JSON, the checkpoint or '', the holds or '', then the records in the order in
-- which they are taken below.
local batch, checkpoint, holds = cjson.decode(ARGV[1]), ARGV[2], ARGV[3]
local position = 3 -- of the last argument that was taken

-- 1. The pair (epoch, n) says whether this batch is the next one.

local stored = redis.call('HMGET', meta, 'epoch', 'n', 'last_event', 'last_ended', 'nameless', 'last_act')
local stored_epoch, stored_n = stored[1] or '0', stored[2] or '0'
if not string.match(stored_epoch .. stored_n, '^%d+$') then
  return {'corrupt', meta, 'its epoch and n are not numbers'}
end
if below(batch.epoch, stored_epoch) then
  return {'fenced', stored_epoch, stored_n}
end
if layout_error then -- after the fence: a gateway that a newer version has taken the range from must let go of it
  return layout_error
end
if stored_epoch == batch.epoch and not below(stored_n, batch.n) then
  if batch.replicas then -- so that WAIT has a write to wait for (replicaWait in flush.go)
    redis.call('HSET', meta, 'n', stored_n)
  end
  return {'repeated'}
end
if not batch.refill and not (stored_epoch == batch.epoch and stored_n == batch.previous) then
  return {'rolled back', stored_epoch, stored_n}
end

-- 2. No command may fail once another one has written. flush.go gives valid arguments, and the prelude has checked the
-- types of the keys; a user who may not use a command is left. A server that refuses all writes (out of memory, a replica,
-- a full disk) refuses the first one and none behind it: so it does with scripts without flags, such as this one.

local forbidden = forbidden_command()
if forbidden then
  return {'not allowed', forbidden}
end

-- 3. The writes.

-- Gives a command a part of a list, a thousand values at a time: the cost of a command, here and in the append-only file,
-- is paid once for many values. Lua's stack has room for some thousands.
local chunk = 1000
local function send(command, key, values, first, last)
  for from = first, last, chunk do
    redis.call(command, key, unpack(values, from, math.min(from + chunk - 1, last)))
  end
end

-- Gives a command the next arguments.
local function write(command, key, count)
  send(command, key, ARGV, position + 1, position + count)
  position = position + count
end

-- Writes the next records of a log: cursor and record of each, then the order entry of each. A record that replaces
-- another keeps its order entry.
local function append(records, order, count)
  local cursors, new = {}, {}
  for i = 1, count do
    cursors[i] = ARGV[position + 2 * i - 1]
  end
  local entries = position + 2 * count
  for from = 1, count, chunk do
    local found = redis.call('HMGET', records, unpack(cursors, from, math.min(from + chunk - 1, count)))
    for i = 1, #found do
      if not found[i] then
        new[#new + 1] = '0' -- every score
        new[#new + 1] = ARGV[entries + from + i - 1]
      end
    end
  end
  send('ZADD', order, new, 1, #new) -- before HSET: a repeat takes a record as the sign that its entry exists
  write('HSET', records, 2 * count)
  position = entries + count
end

-- Writes the next records, but those that are there already.
local function write_absent(key, count)
  for from = 1, count, chunk do
    local names, absent = {}, {}
    for i = from, math.min(from + chunk - 1, count) do
      names[#names + 1] = ARGV[position + 2 * i - 1]
    end
    local found = redis.call('HMGET', key, unpack(names))
    for i = 1, #names do
      if not found[i] then
        absent[#absent + 1] = names[i]
        absent[#absent + 1] = ARGV[position + 2 * (from + i - 1)]
      end
    end
    send('HSET', key, absent, 1, #absent)
  end
  position = position + 2 * count
end

if batch.refill then -- it has every lane
  redis.call('DEL', lanes)
end
write('HSET', lanes, 2 * batch.lane_count)
write('HSET', answers, 2 * batch.answer_count)
write_absent(answers, batch.shed_count)
write('HDEL', answers, batch.forget_count)
append(events, events_order, batch.event_count)
write('ZADD', pending, 2 * batch.pending_count)
write('ZREM', pending, batch.event_count - batch.pending_count)
-- Up to which order entry names were removed. A refill writes some of them again: then before the padded cursor of the first.
local nameless = stored[5]
if batch.ended_count > 0 then -- in few flushes
  for i = 1, nameless and batch.ended_count or 0 do
    local padded = string.sub(ARGV[position + 2 * batch.ended_count + i], 1, 20)
    if padded <= string.sub(nameless, 1, 20) then
      nameless = padded
    end
  end
  append(history, history_order, batch.ended_count)
  write('HSET', sessions, 2 * batch.ended_count)
  write('HSET', names, 2 * batch.name_count)
  write('ZADD', external_ids, 2 * batch.external_count)
end
for _ = 1, batch.act_count do
  position = position + 1
  local entry = ARGV[position]
  local padded = string.sub(entry, 1, 20)
  for _, replaced in ipairs(redis.call('ZRANGEBYLEX', acts, '[' .. padded .. ':', '(' .. padded .. ';')) do
    redis.call('ZREM', acts, replaced)
  end
  redis.call('ZADD', acts, 0, entry)
end

-- 4. Trimming: a few of the oldest records that are over their term or over the cap.

-- The oldest order entries of a log while expired() is true, with their cursors and details. They are read one, then two,
-- four, eight at a time: in most flushes none is expired.
local function oldest(read, expired)
  local entries, cursors, details = {}, {}, {}
  repeat
    local page = read(#entries, #entries + 1)
    for _, entry in ipairs(page) do
      local cursor, at, detail = parse_entry(entry)
      if #entries == batch.trim_limit or not cursor or not expired(entry, at, #entries) then
        return entries, cursors, details
      end
      entries[#entries + 1], cursors[#cursors + 1], details[#details + 1] = entry, cursor, detail
    end
  until #page == 0
  return entries, cursors, details
end

-- Removes the expired entries of a log, before the padded cursor stop where there is one.
local function trim(order, before, stop)
  local excess = redis.call('ZCARD', order) - batch.cap
  local entries, cursors, details = oldest(function(from, count)
    return redis.call('ZRANGE', order, from, from + count - 1)
  end, function(entry, at, trimmed)
    return (at < before or trimmed < excess) and not (stop and string.sub(entry, 1, 20) >= stop)
  end)
  send('ZREM', order, entries, 1, #entries)
  return cursors, details
end

local trimmed_events = trim(events_order, batch.events_before, redis.call('ZRANGE', pending, 0, 0)[1])
send('HDEL', events, trimmed_events, 1, #trimmed_events)

local trimmed_ended, session_ids = trim(history_order, batch.history_before)
local trimmed_sessions = {}
for i, session in ipairs(session_ids) do
  if redis.call('HGET', sessions, session) == trimmed_ended[i] then
    trimmed_sessions[#trimmed_sessions + 1] = session
  end
end
-- Most ranges have no external ids. The record names the id; of one that cannot be read the entry stays.
if #trimmed_ended > 0 and redis.call('TYPE', external_ids).ok ~= 'none' then
  for _, cursor in ipairs(trimmed_ended) do
    local record = redis.call('HGET', history, cursor)
    local readable, ended = pcall(cjson.decode, record or '')
    local given = readable and type(ended) == 'table' and type(ended.session) == 'table' and ended.session.correlation
    if type(given) == 'table' and type(given.external_id) == 'string' then
      redis.call('ZREM', external_ids, given.external_id .. '\0' .. string.rep('0', 20 - #cursor) .. cursor)
    end
  end
end
send('HDEL', history, trimmed_ended, 1, #trimmed_ended)
send('HDEL', names, trimmed_ended, 1, #trimmed_ended)
send('HDEL', sessions, trimmed_sessions, 1, #trimmed_sessions)

if stored[6] or batch.act_count > 0 then -- most ranges have no acts
  trim(acts, batch.history_before)
end

-- Names over their term.
local behind = nameless and '(' .. nameless or '-'
local entries, trimmed_names = oldest(function(from, count)
  return redis.call('ZRANGEBYLEX', history_order, behind, '+', 'LIMIT', from, count)
end, function(_, at)
  return at < batch.names_before
end)
send('HDEL', names, trimmed_names, 1, #trimmed_names)
nameless = entries[#entries] or nameless

-- 5. The pair comes last: if a defect ended the script above, the same batch could be written again.

local fields = {'layout', layout, 'epoch', batch.epoch, 'n', batch.n}
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
if below(stored[3] or '', batch.last_event) then
  set('last_event', batch.last_event)
end
if below(stored[4] or '', batch.last_ended) then
  set('last_ended', batch.last_ended)
end
if below(stored[6] or '0', batch.last_act) then
  set('last_act', batch.last_act)
end
if nameless and nameless ~= stored[5] then
  set('nameless', nameless)
end
if batch.release then
  redis.call('HDEL', meta, 'owner', 'owner_name', 'owner_address')
end
redis.call('HSET', meta, unpack(fields))
return {'applied'}
