-- Reads about ARGV[2] idempotency keys behind the cursor ARGV[1], which begins and ends at 0. A key may come twice.
--   {'read', cursor, {key, record, ...}}
--   {'layout', record, layout} | {'not allowed', command}
if layout_error then
  return layout_error
end
if redis.acl_check_cmd and not redis.acl_check_cmd('HSCAN', answers, '0') then
  return {'not allowed', 'HSCAN'}
end
local page = redis.call('HSCAN', answers, ARGV[1], 'COUNT', ARGV[2])
return {'read', page[1], page[2]}
