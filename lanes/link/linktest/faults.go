package linktest

import (
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"

	"rangegate/lanes"
	"rangegate/lanes/link"
)

var faults = []Test{
	{
		"faults of the hardware are reported with or without a session, and those in force are in the hello",
		with(hardware),
	},
	{"a fault survives a power cut", with(lastingFault)},
	{"a lane that was left is reported, also when it is late", with(left)},
}

func hardware(s fixture) {
	_, _, received := s.dialAnd(link.State{Revision: 1})
	s.Controller.Fault("target carrier: no answer")
	s.Controller.Fault("lamp 3: worn out")
	found := s.waitReports(received, 2)
	assert.Equal(s, []string{"target carrier: no answer", "lamp 3: worn out"},
		[]string{found[0].Detail, found[1].Detail})
	for _, r := range found {
		assert.Equal(s, lanes.ReportFault, r.Kind)
		assert.Equal(s, uuid.Nil, r.Session)
	}
	s.cut(received)

	_, hello, received := s.dialAnd(link.State{Revision: 1})
	assert.Equal(s, []string{"target carrier: no answer", "lamp 3: worn out"}, hello.Faults)
	s.Controller.ClearFaults()
	cleared := s.waitReports(received, 3)[2]
	assert.Equal(s, lanes.ReportFaultCleared, cleared.Kind)
	assert.Equal(s, uint64(3), cleared.Log.Seq)
	s.cut(received)

	_, hello, _ = s.dial()
	assert.Empty(s, hello.Faults)
}

func lastingFault(s fixture) {
	s.Controller.Fault("fire line: relay stuck")
	s.Controller.PowerCut(true)
	_, hello, received := s.dialAnd(link.State{Revision: 1})
	assert.Equal(s, []string{"fire line: relay stuck"}, hello.Faults)
	s.Controller.ClearFaults()
	assert.Equal(s, []uint64{1}, numbers(s.waitReports(received, 1)))
}

func left(s fixture) {
	s.Controller.Leave()
	_, _, received := s.dialAnd(link.State{Revision: 1})
	s.Controller.Leave()
	for _, r := range s.waitReports(received, 2) {
		assert.Equal(s, lanes.ReportCleared, r.Kind)
		assert.Equal(s, uuid.Nil, r.Session)
	}
}
