-- Renews the lease of the node's run for ttl milliseconds, or ends it where that is 0, and removes the leases
-- that have ended. known_since is since when the node has the digest of its configuration as far as it knows, in
-- milliseconds, or 0. The key is a hash: run → 'end, digest since, digest, record', times by this server's clock.
-- The second key, a hash too, says which server (run) has had the leases since when; 0 is the first one ever.
--   {'applied', 'continued' or 'new', {lease, ...}, run_id of this server, 'new' where it has had them for less than ttl}
--   {'corrupt', key, reason}
local key, server_key = KEYS[1], KEYS[2]
local run, ttl, digest, known_since, record = unpack(ARGV)
ttl, known_since = tonumber(ttl), tonumber(known_since)

for _, hash in ipairs(KEYS) do
  local kind = redis.call('TYPE', hash).ok
  if kind ~= 'hash' and kind ~= 'none' then
    return {'corrupt', hash, 'holds a ' .. kind .. ' instead of a hash'}
  end
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local continued, since, live, ended = 'new', now, {}, {}
if known_since > 0 then
  since = known_since
end
local leases = redis.call('HGETALL', key)
for i = 1, #leases, 2 do
  local ends, had_since, had_digest = string.match(leases[i + 1], '^(%d+) (%d+) (%S*) ')
  if leases[i] == run then
    if ends and tonumber(ends) > now then
      continued = 'continued'
    end
    if had_digest == digest then
      since = tonumber(had_since)
    end
  elseif ends and tonumber(ends) > now then
    live[#live + 1] = leases[i + 1]
  else
    ended[#ended + 1] = leases[i]
  end
end
if ttl > 0 then
  local lease = string.format('%.0f %.0f %s %s', now + ttl, since, digest, record)
  redis.call('HSET', key, run, lease)
  live[#live + 1] = lease
else
  ended[#ended + 1] = run
end
for _, gone in ipairs(ended) do
  redis.call('HDEL', key, gone)
end
local info = redis.pcall('INFO', 'server')
local server = type(info) == 'string' and string.match(info, 'run_id:(%w+)') or ''
local had = redis.call('HMGET', server_key, 'run', 'since')
local serving_since = tonumber(had[2] or '') or 0
if server ~= '' and had[1] ~= server then
  serving_since = had[1] and now or 0
  redis.call('HSET', server_key, 'run', server, 'since', string.format('%.0f', serving_since))
end
return {'applied', continued, live, server, serving_since + ttl > now and 'new' or ''}
