-- Claims the range: its epoch becomes the stored one + 1, or ARGV[1] (now, in Unix milliseconds) if that is more.
--   {'claimed', epoch} | {'not allowed', command} | {'layout', record, layout} | {'corrupt', record, reason}
local now = ARGV[1]

if layout_error then
  return layout_error
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
  redis.call('HINCRBY', meta, 'epoch', 1) -- the server adds exactly; Lua would round
end
redis.call('HSET', meta, 'layout', layout, 'n', '0')
return {'claimed', redis.call('HGET', meta, 'epoch')}
