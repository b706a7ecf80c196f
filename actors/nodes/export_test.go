package nodes

// Best is for the tests of this package from outside.
var Best = best
