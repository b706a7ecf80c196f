-- Names the owner of the range, or nobody, while its epoch and its owner are the expected ones. run, name and
-- address are the new owner's, the run empty for nobody.
--   {'applied'} | {'taken', epoch, owner, its name, its address}
--   {'not allowed', command} | {'layout', record, layout} | {'corrupt', record, reason}
local expected_epoch, expected_owner, run, name, address = unpack(ARGV)

if layout_error then
  return layout_error
end
local forbidden = forbidden_command()
if forbidden then
  return {'not allowed', forbidden}
end

local stored = redis.call('HMGET', meta, 'epoch', 'owner', 'owner_name', 'owner_address')
if stored[1] ~= expected_epoch or (stored[2] or '') ~= expected_owner then
  return {'taken', stored[1] or '0', stored[2] or '', stored[3] or '', stored[4] or ''}
end
if run == '' then
  redis.call('HDEL', meta, 'owner', 'owner_name', 'owner_address')
else
  redis.call('HSET', meta, 'owner', run, 'owner_name', name, 'owner_address', address)
end
return {'applied'}
