package main

import (
	"net/http"

	"rangegate/api"
	"rangegate/api/routing"
	"rangegate/config"
)

// newRouter returns what hands requests on to the other nodes; nil without nodes.
func (s *service) newRouter(c *config.Nodes) *routing.Router {
	node, ok := s.ownership.(shared)
	if !ok {
		return nil
	}
	settings := routing.Settings{Name: c.Name, Directory: node.keeper, Metrics: routing.NewMetrics(s.registry), Log: s.log}
	if watcher := s.certificates.nodes; watcher != nil {
		settings.TLS = watcher.ClientConfig
	}
	return routing.New(settings)
}

// nodeListener is the handler of the address for the other nodes.
func (s *service) nodeListener() http.Handler {
	return &routing.Acceptor{
		Requests: http.HandlerFunc(s.serveRequests), Operations: http.HandlerFunc(s.serveOperations), Other: api.NoPaths(s.log),
	}
}
