-- Finds the answer to the request with that idempotency key, for the owner in that epoch.
--   {'read', record} | {'not found'} | {'fenced', epoch}
--   {'layout', record, layout} | {'corrupt', record, reason}
local epoch, name = unpack(ARGV)

local refusal = fenced(epoch) or layout_error
if refusal then
  return refusal
end
local record = redis.call('HGET', answers, name)
if not record then
  return {'not found'}
end
return {'read', record}
