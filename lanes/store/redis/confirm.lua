-- Confirms that nobody has claimed the range after that epoch.
--   {'read'} | {'fenced', epoch} | {'corrupt', record, reason}
local epoch = ARGV[1]

return fenced(epoch) or {'read'}
