package gateway

import (
	"slices"

	"github.com/google/uuid"

	v2 "rangegate/api/v2"
	"rangegate/config"
)

// configured returns what a POS can find out about each range beyond its layout.
func configured(c config.Config, version string) map[uuid.UUID]v2.Configured {
	kept := c.Store.Retention
	all := map[uuid.UUID]v2.Configured{}
	for _, r := range c.Ranges {
		all[r.ID] = v2.Configured{
			Version: version, Features: features(r, c.Environment),
			Retention: v2.Retention{Events: kept.Events, History: kept.History, Names: kept.Names, Records: kept.Cap},
		}
	}
	return all
}

func features(r config.Range, environment config.Environment) (list []v2.Feature) {
	receivers := r.Receivers()
	for _, f := range []struct {
		feature v2.Feature
		present bool
	}{
		{v2.FeaturePurchasing, r.Sells()},
		{v2.FeatureProducts, r.Products != nil},
		{v2.FeatureWebhook, len(receivers) > 0},
		{v2.FeatureWebhookRetry, slices.ContainsFunc(receivers, func(w config.Webhook) bool { return w.Retry != nil })},
		{v2.FeatureClearBeforeSale, !r.SellBeforeClear},
		{v2.FeatureWarnings, true},
		{v2.FeatureGrace, r.Grace > 0},
		{v2.FeatureOpenEnd, !r.GraceForAll},
		{v2.FeatureHours, r.HasHours()},
		{v2.FeatureSimulation, environment == config.InPlayground},
	} {
		if f.present {
			list = append(list, f.feature)
		}
	}
	return list
}
