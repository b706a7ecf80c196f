-- Changes the sign-ins (signins.go) in KEYS[1]. ARGV: the secret to save where there is none, or '' for no secret; the secret
-- to save in any case, or ''; how many of the rest are added, as names and values; the names of those that are removed.
--   {'applied', secret} | {'corrupt', key, reason}
local key = KEYS[1]
local secret, new_secret, added = ARGV[1], ARGV[2], tonumber(ARGV[3])
local kind = redis.call('TYPE', key).ok
if kind ~= 'hash' and kind ~= 'none' then
  return {'corrupt', key, 'holds a ' .. kind .. ' instead of a hash'}
end
if new_secret ~= '' then
  redis.call('HSET', key, 'secret', new_secret)
elseif secret ~= '' then
  -- What is there is written again: replicas are waited for only after a write of this connection.
  redis.call('HSET', key, 'secret', redis.call('HGET', key, 'secret') or secret)
end
for i = 4, 2 + 2 * added, 2 do
  redis.call('HSET', key, ARGV[i], ARGV[i + 1])
end
for i = 4 + 2 * added, #ARGV do
  redis.call('HDEL', key, ARGV[i])
end
return {'applied', redis.call('HGET', key, 'secret') or ''}
