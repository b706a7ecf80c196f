package main

// experiments are all experiments in the order of the table.
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
