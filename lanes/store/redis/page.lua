-- Reads a log behind the rank ARGV[2], oldest first, at most ARGV[3] records.
--   {'read', {cursor, record, ...}}, of the history {'read', {cursor, record, customer's name or '', ...}}
--   {'corrupt', record, reason}
local order, records, named = events_order, events, false
if ARGV[1] == 'history' then
  order, records, named = history_order, history, true
end

local page = {}
-- ';' is the character behind ':', so that '<rank>;' is behind every place with that cursor.
for _, place in ipairs(redis.call('ZRANGEBYLEX', order, '(' .. ARGV[2] .. ';', '+', 'LIMIT', 0, ARGV[3])) do
  local cursor = string.match(place, '^0*(%d+):')
  local record = cursor and redis.call('HGET', records, cursor)
  if not record then
    return {'corrupt', order .. ' ' .. place, 'there is no such record'}
  end
  page[#page + 1] = cursor
  page[#page + 1] = record
  if named then
    page[#page + 1] = redis.call('HGET', names, cursor) or ''
  end
end
return {'read', page}
