-- Gives the range what was written aside for it, unless the range is there. KEYS[1] to [10] are the range's keys,
-- KEYS[11] to [20] those aside.
--   {'adopted'} | {'exists'} | {'not allowed', command}
if redis.acl_check_cmd and not redis.acl_check_cmd('RENAME', KEYS[11], KEYS[1]) then
  return {'not allowed', 'RENAME'}
end
for i = 1, 10 do
  if redis.call('TYPE', KEYS[i]).ok ~= 'none' then
    return {'exists'}
  end
end
for i = 1, 10 do
  if redis.call('TYPE', KEYS[i + 10]).ok ~= 'none' then
    redis.call('RENAME', KEYS[i + 10], KEYS[i])
  end
end
return {'adopted'}
