-- Renames the staging keys to the range's keys, unless the range exists. The first half of KEYS are the range's keys, the
-- second half the staging keys. Of a range that was forgotten the epoch remains, which rises.
--   {'restored'} | {'exists'} | {'not allowed', command}
local half = #KEYS / 2
if redis.acl_check_cmd and not redis.acl_check_cmd('RENAME', KEYS[half + 1], KEYS[1]) then
  return {'not allowed', 'RENAME'}
end
local meta, staged_meta = KEYS[1], KEYS[half + 1]
local epoch, forgotten_at
if redis.call('TYPE', meta).ok == 'hash' then
  epoch, forgotten_at = unpack(redis.call('HMGET', meta, 'epoch', 'forgotten_at'))
end
local forgotten = epoch and epoch == forgotten_at
for i = forgotten and 2 or 1, half do
  if redis.call('TYPE', KEYS[i]).ok ~= 'none' then
    return {'exists'}
  end
end
if forgotten then
  local staged = redis.call('HGET', staged_meta, 'epoch')
  if #staged < #epoch or (#staged == #epoch and staged <= epoch) then -- Lua would round numbers of that size
    redis.call('HSET', staged_meta, 'epoch', epoch)
    redis.call('HINCRBY', staged_meta, 'epoch', 1)
  end
end
for i = 1, half do
  if redis.call('TYPE', KEYS[i + half]).ok ~= 'none' then
    redis.call('RENAME', KEYS[i + half], KEYS[i])
  end
end
return {'restored'}
