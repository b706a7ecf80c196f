-- Renames the staging keys to the range's keys, unless the range exists. The first half of KEYS are the range's keys, the
-- second half the staging keys.
--   {'restored'} | {'exists'} | {'not allowed', command}
local half = #KEYS / 2
if redis.acl_check_cmd and not redis.acl_check_cmd('RENAME', KEYS[half + 1], KEYS[1]) then
  return {'not allowed', 'RENAME'}
end
for i = 1, half do
  if redis.call('TYPE', KEYS[i]).ok ~= 'none' then
    return {'exists'}
  end
end
for i = 1, half do
  if redis.call('TYPE', KEYS[i + half]).ok ~= 'none' then
    redis.call('RENAME', KEYS[i + half], KEYS[i])
  end
end
return {'restored'}
