-- Takes the range: the epoch becomes ARGV[1] (now, in Unix milliseconds), or the stored one + 1 if that is more.
--   {'claimed', epoch} | {'not allowed', command} | {'corrupt', record, reason}
local now = ARGV[1]

local forbidden = forbidden_command()
if forbidden then
  return {'not allowed', forbidden}
end

local epoch = redis.call('HGET', meta, 'epoch')
if epoch and not string.match(epoch, '^%d+$') then
  return {'corrupt', meta, 'its epoch is not a number'}
end
if not epoch or below(epoch, now) then
  redis.call('HSET', meta, 'layout', layout, 'epoch', now, 'n', '0')
  return {'claimed', now}
end
redis.call('HINCRBY', meta, 'epoch', 1) -- the server adds exactly
redis.call('HSET', meta, 'n', '0')
return {'claimed', redis.call('HGET', meta, 'epoch')}
