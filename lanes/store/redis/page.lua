-- Reads a log behind the rank ARGV[2], oldest first, at most ARGV[3] records.
--   {'read', {cursor, record, ...}}, of the history {'read', {cursor, record, customer's name or '', ...}}
--   {'corrupt', record, reason}
if foreign then
  return foreign
end
local order, records, named = events_order, events, false
if ARGV[1] == 'history' then
  order, records, named = history_order, history, true
elseif ARGV[1] == 'acts' then
  order, records = acts, nil -- which are in their places
end

local page = {}
-- ';' is the character behind ':', so that '<rank>;' is behind every place with that cursor.
for _, place in ipairs(redis.call('ZRANGEBYLEX', order, '(' .. ARGV[2] .. ';', '+', 'LIMIT', 0, ARGV[3])) do
  local cursor = string.match(place, '^0*(%d+):')
  local record
  if not records then
    record = select(3, read_place(place))
  elseif cursor then
    record = redis.call('HGET', records, cursor)
  end
  if not record then
    return {'corrupt', order .. ' ' .. string.sub(place, 1, 64), 'there is no such record'}
  end
  page[#page + 1] = cursor
  page[#page + 1] = record
  if named then
    page[#page + 1] = redis.call('HGET', names, cursor) or ''
  end
end
return {'read', page}
