-- Claims the range: its epoch becomes the stored one + 1, or now, in Unix milliseconds, if that is more. A process
-- that is the only one gives nothing else, and the range has no owner then. A node also gives the epoch and the run
-- of the owner that it expects, its own run, name and address, and the server that has answered its newest renewal, or
-- an empty text: after a fail-over what it knows is of before, until it renews its lease. Where the epoch is ahead of
-- its clock, it adds up to 4095 more, by its run: a fail-over can roll back the claim of a node that lives on, and the next claim begins at
-- the same stored epoch. Two runs add the same once in 4,096 times.
--   {'claimed', epoch, running sessions} | {'taken', epoch, owner, its name, its address} | {'another server', run_id}
--   {'not allowed', command} | {'layout', record, layout} | {'corrupt', record, reason}
local now, expected_epoch, expected_owner, run, name, address, server = unpack(ARGV)

if layout_error then
  return layout_error
end
local forbidden = forbidden_command()
if forbidden then
  return {'not allowed', forbidden}
end
if server and server ~= '' then
  local info = redis.pcall('INFO', 'server')
  local serving = type(info) == 'string' and string.match(info, 'run_id:(%w+)') or server
  if serving ~= server then
    return {'another server', serving}
  end
end

local stored = redis.call('HMGET', meta, 'epoch', 'owner', 'owner_name', 'owner_address')
local epoch = stored[1] or '0'
if not string.match(epoch, '^%d+$') then
  return {'corrupt', meta, 'its epoch is not a number'}
end
if run and not (epoch == expected_epoch and (stored[2] or '') == expected_owner) then
  return {'taken', epoch, stored[2] or '', stored[3] or '', stored[4] or ''}
end
local running = 0
if run then
  local records = redis.call('HGETALL', lanes)
  for i = 2, #records, 2 do
    if string.find(records[i], '"phase":"running"', 1, true) then
      running = running + 1
    end
  end
end

if below(epoch, now) then
  redis.call('HSET', meta, 'epoch', now)
else
  local beyond = run and tonumber(string.sub(run, 1, 3), 16) or 0
  redis.call('HINCRBY', meta, 'epoch', 1 + beyond) -- the server adds exactly; Lua would round
end
redis.call('HSET', meta, 'layout', layout, 'n', '0')
if run then
  redis.call('HSET', meta, 'owner', run, 'owner_name', name, 'owner_address', address)
else
  redis.call('HDEL', meta, 'owner', 'owner_name', 'owner_address')
end
return {'claimed', redis.call('HGET', meta, 'epoch'), tostring(running)}
