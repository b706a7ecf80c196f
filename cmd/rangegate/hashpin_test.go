package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTrivialPINs(t *testing.T) {
	for _, trivial := range []string{
		"000000", "111111", "121212", "112211", "123456", "234567", "654321", "987654", "567890", "678901", "109876",
		"135791", "abcdef",
		"ABCDEF", "fedcba", "123123", "471471", "12341234", "abcabc", "112233", "998877", "aabbcc", "123321", "159753",
		"147258", "Password",
		"qwertz", "1q2w3e4r", "010101", "aaaaaaaaaaaaaaaa", "246810", "102030", "100200", "9101112",
		"510152025", "3691215",
		"140783", "071483", "830714", "14071983", "19830714", "07142001", "290296",
	} {
		require.NotEmpty(t, trivialPIN(trivial), trivial)
	}
	for _, fair := range []string{
		"471147", "274159", "839514", "107731", "30021983", "14072183", "246811",
		"correct horse", "Übung7", "123465", "117235", "4711471", "908172",
	} {
		require.Empty(t, trivialPIN(fair), fair)
	}
}
