-- Confirms that nobody has claimed the range after that epoch.
--   {'read'} | {'fenced', epoch, n} | READONLY | {'corrupt', record, reason}
local epoch, n = unpack(ARGV)

return refused(epoch, n) or {'read'}
