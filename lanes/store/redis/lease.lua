-- Renews the lease of the node ARGV[1] for ARGV[2] milliseconds, or ends it where that is 0, and removes the leases that have ended.
-- ARGV[3] is the digest of its configuration, ARGV[4] since when it has that as far as it knows, in milliseconds, or 0, ARGV[5] its
-- record. KEYS[1] is a hash: run → 'end, digest since, digest, record', times by the clock of this server.
--   {'applied', 'continued' or 'new', {lease, ...}, run_id of this server} | {'corrupt', key, reason}
local key, run, ttl, digest, known_since, record = KEYS[1], ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4]), ARGV[5]
local kind = redis.call('TYPE', key).ok
if kind ~= 'hash' and kind ~= 'none' then
  return {'corrupt', key, 'holds a ' .. kind .. ' instead of a hash'}
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
return {'applied', continued, live, server}
