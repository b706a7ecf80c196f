-- Reads about so many idempotency keys behind the cursor, which begins and ends at 0, for the owner that has saved flush
-- n. A key may come twice.
--   {'read', cursor, {key, record, ...}} | {'fenced', epoch, n} | READONLY
--   {'layout', record, layout} | {'corrupt', record, reason} | {'not allowed', command}
local epoch, n, cursor, count = unpack(ARGV)

local refusal = refused(epoch, n) or layout_error
if refusal then
  return refusal
end
if redis.acl_check_cmd and not redis.acl_check_cmd('HSCAN', answers, '0') then
  return {'not allowed', 'HSCAN'}
end
local page = redis.call('HSCAN', answers, cursor, 'COUNT', count)
return {'read', page[1], page[2]}
