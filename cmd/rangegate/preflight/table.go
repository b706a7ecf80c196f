package preflight

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Write prints the findings as a table, each on a line, with what to do about it on the next, and a last line that sums up.
func Write(to io.Writer, all []Finding) error {
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	for _, f := range all {
		fmt.Fprintf(table, "%s\t%s\t%s\n", f.Result, f.What, f.Found)
		if f.Do != "" {
			fmt.Fprintf(table, "\t\t-> %s\n", f.Do)
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(to, "pre-flight: %d failed, %d to be looked at, %d ok\n", Count(all, Fail), Count(all, Warn), Count(all, OK))
	return err
}

// Count is how many findings came out so.
func Count(all []Finding, as Result) (n int) {
	for _, f := range all {
		if f.Result == as {
			n++
		}
	}
	return n
}
