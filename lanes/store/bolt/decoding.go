package bolt

import (
	"iter"
	"runtime"
	"runtime/debug"
	"sync"
)

// atLeast is how many records are worth a goroutine of their own.
const atLeast = 256

// decodeAll reads all records of a bucket, each processor a share of them. They come in the order of their keys; if some
// cannot be read, the error is about the first of these.
func decodeAll[T any](all iter.Seq2[[]byte, []byte], read func(key, value []byte) (T, error)) ([]T, error) {
	var keys, values [][]byte
	for key, value := range all {
		keys, values = append(keys, key), append(values, value)
	}
	if len(keys) == 0 {
		return nil, nil
	}
	records := make([]T, len(keys))
	shares := min(runtime.GOMAXPROCS(0), 1+len(keys)/atLeast)
	errs, defects := make([]error, shares), make([]any, shares)
	var reading sync.WaitGroup
	for s := range shares {
		reading.Go(func() {
			defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // the records are in the mapped file: see careful
			defer func() { defects[s] = recover() }()
			for i := len(keys) * s / shares; i < len(keys)*(s+1)/shares && errs[s] == nil; i++ {
				records[i], errs[s] = read(keys[i], values[i])
			}
		})
	}
	reading.Wait()
	for s := range shares {
		if defects[s] != nil {
			panic(defects[s]) // whoever is careful is the goroutine of the transaction
		}
		if errs[s] != nil {
			return nil, errs[s]
		}
	}
	return records, nil
}
