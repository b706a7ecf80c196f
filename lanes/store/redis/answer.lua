-- Finds the answer to the request with the idempotency key ARGV[2], for the owner in the epoch ARGV[1].
--   {'read', record} | {'not found'} | {'fenced', epoch}
--   {'layout', record, layout} | {'corrupt', record, reason}
local refusal = fenced(ARGV[1]) or layout_error
if refusal then
  return refusal
end
local record = redis.call('HGET', answers, ARGV[2])
if not record then
  return {'not found'}
end
return {'read', record}
