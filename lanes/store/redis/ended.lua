-- Finds the session ARGV[1] in the history.
--   {'read', {cursor, record, customer's name or ''}} | {'not found'}
--   {'layout', record, layout} | {'corrupt', record, reason}
if layout_error then
  return layout_error
end
local cursor = redis.call('HGET', sessions, ARGV[1])
if not cursor then
  return {'not found'}
end
local record = redis.call('HGET', history, cursor)
if not record then
  return {'corrupt', sessions .. ' ' .. ARGV[1], 'there is no such record: ' .. cursor}
end
return {'read', {cursor, record, redis.call('HGET', names, cursor) or ''}}
