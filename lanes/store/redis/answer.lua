-- Finds the answer to the request with that idempotency key, for the owner that has saved flush n.
--   {'read', record} | {'not found'} | {'fenced', epoch, n} | READONLY
--   {'layout', record, layout} | {'corrupt', record, reason}
local epoch, n, name = unpack(ARGV)

local refusal = refused(epoch, n) or layout_error
if refusal then
  return refusal
end
local record = redis.call('HGET', answers, name)
if not record then
  return {'not found'}
end
return {'read', record}
