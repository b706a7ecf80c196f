-- Reads a range as it stands, at one instant.
--   {'loaded', checkpoint or nil, last_event, last_ended, {lane, record, ...}, {answer, record, ...},
--     {cursor, record, ...}, holds or nil, last_act}
--   {'corrupt', record, reason}
if foreign then
  return foreign
end
local known = redis.call('HMGET', meta, 'checkpoint', 'last_event', 'last_ended', 'holds', 'last_act')
local open = {}
for _, rank in ipairs(redis.call('ZRANGE', pending, 0, -1)) do
  local cursor = string.match(rank, '^0*(%d+)$')
  local record = cursor and redis.call('HGET', events, cursor)
  if not record then
    return {'corrupt', pending .. ' ' .. rank, 'there is no such event'}
  end
  open[#open + 1] = cursor
  open[#open + 1] = record
end
return {
  'loaded', known[1], known[2] or '0', known[3] or '0',
  redis.call('HGETALL', lanes), redis.call('HGETALL', answers), open, known[4], known[5] or '0',
}
