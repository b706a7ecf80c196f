-- Finds the session ARGV[2] in the history, for the owner in the epoch ARGV[1].
--   {'read', {cursor, record, customer's name or ''}} | {'not found'} | {'fenced', epoch}
--   {'layout', record, layout} | {'corrupt', record, reason}
local refusal = fenced(ARGV[1]) or layout_error
if refusal then
  return refusal
end
local cursor = redis.call('HGET', sessions, ARGV[2])
if not cursor then
  return {'not found'}
end
local record = redis.call('HGET', history, cursor)
if not record then
  return {'corrupt', sessions .. ' ' .. ARGV[2], 'there is no such record: ' .. cursor}
end
return {'read', {cursor, record, redis.call('HGET', names, cursor) or ''}}
