-- Reads the log ARGV[2] behind the padded cursor ARGV[3], oldest first, at most ARGV[4] records. Of the log 'external', the history,
-- it reads those whose external id is in ARGV[5], the beginning of their entries (externalEntry in flush.go). For the owner in the epoch
-- ARGV[1].
--   {'read', {cursor, record, ...}}, of the history {'read', {cursor, record, customer's name or '', ...}} | {'fenced', epoch}
--   {'layout', record, layout} | {'corrupt', record, reason}
local refusal = fenced(ARGV[1]) or layout_error
if refusal then
  return refusal
end
if ARGV[2] == 'external' then
  local page = {}
  local oldest = redis.call('ZRANGE', history_order, 0, 0)[1] or ':'
  local found = redis.call('ZRANGEBYLEX', external_ids, '(' .. ARGV[5] .. ARGV[3], '[' .. ARGV[5] .. ':', 'LIMIT', 0, ARGV[4])
  for _, entry in ipairs(found) do
    local cursor = string.match(string.sub(entry, #ARGV[5] + 1), '^0*(%d+)$')
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
if ARGV[2] == 'history' then
  order, records, has_names = history_order, history, true
elseif ARGV[2] == 'acts' then
  order, records = acts, nil -- the order entries have the records
end

local page = {}
-- ';' is the character behind ':', so '<cursor>;' is behind every order entry with that cursor.
for _, entry in ipairs(redis.call('ZRANGEBYLEX', order, '(' .. ARGV[3] .. ';', '+', 'LIMIT', 0, ARGV[4])) do
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
