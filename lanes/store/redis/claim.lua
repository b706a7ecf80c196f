-- Takes the range: its epoch is the stored one + 1, or ARGV[1] (now, in Unix milliseconds) if that is more.
--   {'claimed', epoch} | {'not allowed', command} | {'corrupt', record, reason}
local now = ARGV[1]

if foreign then
  return foreign
end
local forbidden = forbidden_command()
if forbidden then
  return {'not allowed', forbidden}
end

local epoch = redis.call('HGET', meta, 'epoch') or '0'
if not string.match(epoch, '^%d+$') then
  return {'corrupt', meta, 'its epoch is not a number'}
end
if below(epoch, now) then
  redis.call('HSET', meta, 'epoch', now)
else
  redis.call('HINCRBY', meta, 'epoch', 1) -- the server adds exactly
end
redis.call('HSET', meta, 'layout', layout, 'n', '0')
return {'claimed', redis.call('HGET', meta, 'epoch')}
