-- Reads the log ARGV[1] behind the padded cursor ARGV[2], oldest first, at most ARGV[3] records. Of the log 'external', the history,
-- it reads those whose external id is in ARGV[4], the beginning of their entries (externalEntry in flush.go).
--   {'read', {cursor, record, ...}}, of the history {'read', {cursor, record, customer's name or '', ...}}
--   {'layout', record, layout} | {'corrupt', record, reason}
if layout_error then
  return layout_error
end
if ARGV[1] == 'external' then
  local page = {}
  local oldest = redis.call('ZRANGE', history_order, 0, 0)[1] or ':'
  local found = redis.call('ZRANGEBYLEX', external_ids, '(' .. ARGV[4] .. ARGV[2], '[' .. ARGV[4] .. ':', 'LIMIT', 0, ARGV[3])
  for _, entry in ipairs(found) do
    local cursor = string.match(string.sub(entry, #ARGV[4] + 1), '^0*(%d+)$')
    local record = cursor and redis.call('HGET', history, cursor)
    local trimmed = cursor and string.sub(entry, -20) < oldest -- its record could not be read when it was trimmed
    if not record and not trimmed then
      return {'corrupt', external_ids .. ' ' .. string.sub(entry, -20), 'there is no such record'}
    end
    if record then
      page[#page + 1] = cursor
      page[#page + 1] = record
      page[#page + 1] = redis.call('HGET', names, cursor) or ''
    end
  end
  return {'read', page}
end
local order, records, has_names = events_order, events, false
if ARGV[1] == 'history' then
  order, records, has_names = history_order, history, true
elseif ARGV[1] == 'acts' then
  order, records = acts, nil -- the order entries have the records
end

local page = {}
-- ';' is the character behind ':', so '<cursor>;' is behind every order entry with that cursor.
for _, entry in ipairs(redis.call('ZRANGEBYLEX', order, '(' .. ARGV[2] .. ';', '+', 'LIMIT', 0, ARGV[3])) do
  local cursor = string.match(entry, '^0*(%d+):')
  local record
  if not records then
    record = select(3, parse_entry(entry))
  elseif cursor then
    record = redis.call('HGET', records, cursor)
  end
  if not record then
    return {'corrupt', order .. ' ' .. string.sub(entry, 1, 64), 'there is no such record'}
  end
  page[#page + 1] = cursor
  page[#page + 1] = record
  if has_names then
    page[#page + 1] = redis.call('HGET', names, cursor) or ''
  end
end
return {'read', page}
