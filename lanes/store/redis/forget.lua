-- Removes everything of a range but its layout and its epoch, which rises as by a claim, if the range has the expected pair
-- and the expected run as its owner, '' for nobody. forgotten_at is the epoch in which nothing of it is there. What is left of
-- a range that was forgotten before is removed, whatever is expected.
--   {'applied'} | {'not found'} | {'changed'}
--   {'not allowed', command} | {'layout', record, layout} | {'corrupt', record, reason}
local expected_epoch, expected_n, expected_owner, now = unpack(ARGV)

if layout_error then
  return layout_error
end
local forbidden = forbidden_command()
if redis.acl_check_cmd and not redis.acl_check_cmd('UNLINK', unpack(KEYS)) then
  forbidden = 'UNLINK'
end
if forbidden then
  return {'not allowed', forbidden}
end
local stored = redis.call('HMGET', meta, 'epoch', 'n', 'owner', 'forgotten_at')
local epoch = stored[1]
if not epoch then
  return {'not found'}
end
if not string.match(epoch, '^%d+$') then
  return {'corrupt', meta, 'its epoch is not a number'}
end
if stored[4] ~= epoch then
  if epoch ~= expected_epoch or stored[2] ~= expected_n or (stored[3] or '') ~= expected_owner then
    return {'changed'}
  end
  if below(epoch, now) then
    epoch = now
  else
    redis.call('HINCRBY', meta, 'epoch', 1) -- the server adds exactly; Lua would round
    epoch = redis.call('HGET', meta, 'epoch')
  end
end
redis.call('UNLINK', unpack(KEYS)) -- the server frees the memory in the background
redis.call('HSET', meta, 'layout', layout, 'epoch', epoch, 'n', '0', 'forgotten_at', epoch)
return {'applied'}
