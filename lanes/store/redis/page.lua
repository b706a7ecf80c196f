-- Reads the log behind the padded cursor, oldest first, at most limit records, for the owner that has saved flush n. Of the
-- log 'external', the history, it reads those of one external id: it begins their entries (externalEntry in flush.go).
--   {'read', {cursor, record, ...}}, of the history {'read', {cursor, record, customer's name or '', ...}} | {'fenced', epoch, n} | READONLY
--   {'layout', record, layout} | {'corrupt', record, reason}
local epoch, n, log, after, limit, external_id = unpack(ARGV)

local refusal = refused(epoch, n) or layout_error
if refusal then
  return refusal
end
if log == 'external' then
  local page = {}
  local oldest = redis.call('ZRANGE', history_order, 0, 0)[1] or ':'
  local found = redis.call('ZRANGEBYLEX', external_ids, '(' .. external_id .. after, '[' .. external_id .. ':', 'LIMIT', 0, limit)
  for _, entry in ipairs(found) do
    local cursor = string.match(string.sub(entry, #external_id + 1), '^0*(%d+)$')
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
if log == 'history' then
  order, records, has_names = history_order, history, true
elseif log == 'acts' then
  order, records = acts, nil -- the order entries have the records
end

local page = {}
-- ';' is the character behind ':', so '<cursor>;' is behind every order entry with that cursor.
for _, entry in ipairs(redis.call('ZRANGEBYLEX', order, '(' .. after .. ';', '+', 'LIMIT', 0, limit)) do
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
