-- Reads about so many idempotency keys behind the cursor, which begins and ends at 0. A key may come twice.
--   {'read', cursor, {key, record, ...}}
--   {'layout', record, layout} | {'not allowed', command}
local cursor, count = unpack(ARGV)

if layout_error then
  return layout_error
end
if redis.acl_check_cmd and not redis.acl_check_cmd('HSCAN', answers, '0') then
  return {'not allowed', 'HSCAN'}
end
local page = redis.call('HSCAN', answers, cursor, 'COUNT', count)
return {'read', page[1], page[2]}
