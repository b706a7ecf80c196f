package main

// experiments is everything that is measured, in the order of the table.
var experiments = []experiment{
	expiryQuiet, expirySelling, expiryLarge,
	ending,
	salesOnSQLite, salesOnRedis,
	getOne, getList,
	ceasefireSmall, ceasefireLarge,
	deliveries,
	memory,
	startUp,
	growth, manyRanges,
	day,
}
