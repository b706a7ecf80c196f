package api

import (
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/lanes"
)

// The endpoints of screens and operators are in no document, so nothing else lists their codes.
func TestTheTablesHaveTheCodesOfScreensAndOperators(t *testing.T) {
	for _, err := range []*lanes.Error{
		lanes.ErrNotWaiting, lanes.ErrNoPurchasing, lanes.ErrPurchasePending, lanes.ErrTooManyOpen, lanes.ErrItems,
		lanes.ErrPurchaseNotFound, lanes.ErrPurchaseNotUnique, lanes.ErrNotSaved, lanes.ErrLaneNotFound,
		lanes.ErrProductsNotConfigured,
	} {
		require.Equal(t, err.Error(), screenErrors[err.Code()].Sentence)
		require.Contains(t, operationsErrors, err.Code())
	}
	require.Contains(t, screenErrors, "cross_site")
	for _, code := range []string{
		BadConfiguration, NeedsRestart, InUse, PartlyEnded, NoConfiguration, ReloadFailed,
		"not_parked", "lane_parked", "too_many_followers",
	} {
		require.Contains(t, operationsErrors, code)
	}
}
