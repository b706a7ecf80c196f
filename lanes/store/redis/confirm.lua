-- Confirms that nobody has claimed the range after the epoch ARGV[1].
--   {'read'} | {'fenced', epoch} | {'corrupt', record, reason}
return fenced(ARGV[1]) or {'read'}
