package linktest

import (
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"

	"rangegate/lanes"
)

var faults = []Story{
	{"faults of the hardware are reported, whatever the session, and those in force are in the hello", told(hardware)},
	{"a fault stays through a power cut", told(lastingFault)},
}

func hardware(s scene) {
	_, _, heard := s.dial()
	s.Controller.Fault("target carrier: no answer")
	s.Controller.Fault("lamp 3: worn out")
	all := s.hears(heard, 2)
	assert.Equal(s, []string{"target carrier: no answer", "lamp 3: worn out"}, []string{all[0].Detail, all[1].Detail})
	for _, r := range all {
		assert.Equal(s, lanes.ReportFault, r.Kind)
		assert.Equal(s, uuid.Nil, r.Session)
	}
	s.cut(heard)

	_, hello, heard := s.dial()
	assert.Equal(s, []string{"target carrier: no answer", "lamp 3: worn out"}, hello.Faults)
	s.Controller.ClearFaults()
	cleared := s.hears(heard, 3)[2]
	assert.Equal(s, lanes.ReportCleared, cleared.Kind)
	assert.Equal(s, uint64(3), cleared.Log.Seq)
	s.cut(heard)

	_, hello, _ = s.dial()
	assert.Empty(s, hello.Faults)
}

func lastingFault(s scene) {
	s.Controller.Fault("fire line: relay stuck")
	s.Controller.PowerCut(true)
	_, hello, heard := s.dial()
	assert.Equal(s, []string{"fire line: relay stuck"}, hello.Faults)
	s.Controller.ClearFaults()
	assert.Equal(s, []uint64{1}, numbers(s.hears(heard, 1)))
}
