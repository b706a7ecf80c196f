-- Finds the session in the history, for the owner that has saved flush n.
--   {'read', {cursor, record, customer's name or ''}} | {'not found'} | {'fenced', epoch, n} | READONLY
--   {'layout', record, layout} | {'corrupt', record, reason}
local epoch, n, session = unpack(ARGV)

local refusal = refused(epoch, n) or layout_error
if refusal then
  return refusal
end
local cursor = redis.call('HGET', sessions, session)
if not cursor then
  return {'not found'}
end
local record = redis.call('HGET', history, cursor)
if not record then
  return {'corrupt', sessions .. ' ' .. session, 'there is no such record: ' .. cursor}
end
return {'read', {cursor, record, redis.call('HGET', names, cursor) or ''}}
