-- Reads a range at one instant, but for its idempotency keys (answers.lua), for the owner that has saved flush n.
--   {'loaded', checkpoint or nil, last_event, last_ended, {lane, record, ...}, {cursor, record, ...}, holds or nil, last_act}
--   {'fenced', epoch, n} | READONLY
--   {'layout', record, layout} | {'corrupt', record, reason}
local epoch, n = unpack(ARGV)

local refusal = refused(epoch, n) or layout_error
if refusal then
  return refusal
end
local fields = redis.call('HMGET', meta, 'checkpoint', 'last_event', 'last_ended', 'holds', 'last_act')
local pending_events = {}
for _, padded in ipairs(redis.call('ZRANGE', pending, 0, -1)) do
  local cursor = string.match(padded, '^0*(%d+)$')
  local record = cursor and redis.call('HGET', events, cursor)
  if not record then
    return {'corrupt', pending .. ' ' .. padded, 'there is no such event'}
  end
  pending_events[#pending_events + 1] = cursor
  pending_events[#pending_events + 1] = record
end
return {
  'loaded', fields[1], fields[2] or '0', fields[3] or '0',
  redis.call('HGETALL', lanes), pending_events, fields[4], fields[5] or '0',
}
