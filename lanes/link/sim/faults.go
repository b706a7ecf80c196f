package sim

import (
	"slices"

	"rangegate/lanes"
)

// Fault is something of the hardware going wrong. It is reported, and stays in force until the faults are cleared.
func (c *Controller) Fault(detail string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.faults, detail) {
		c.faults = append(c.faults, detail)
	}
	c.keep(happening{kind: lanes.ReportFault, detail: detail}, c.look())
}

// ClearFaults is the hardware put right. It is reported, if anything was wrong.
func (c *Controller) ClearFaults() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.faults) == 0 {
		return
	}
	c.faults = nil
	c.keep(happening{kind: lanes.ReportCleared}, c.look())
}
