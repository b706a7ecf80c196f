package main

import (
	"errors"
	"io"
	"runtime/pprof"
)

// profiled measures, and writes what the process did meanwhile to path.cpu.pprof, and what it has
// allocated to path.allocs.pprof. An empty path is no profile.
func profiled(path string, measure func() ([]float64, error)) (had []float64, err error) {
	if path == "" {
		return measure()
	}
	file, err := create(path + ".cpu.pprof")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := pprof.StartCPUProfile(file); err != nil {
		return nil, err
	}
	had, err = measure()
	pprof.StopCPUProfile()
	if err != nil {
		return nil, err
	}
	return had, write(path+".allocs.pprof", func(to io.Writer) error { return pprof.Lookup("allocs").WriteTo(to, 0) })
}
