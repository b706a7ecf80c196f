package clients

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"rangegate/test/support"
)

// inSwedish takes 15 minutes away from a session, in a culture whose minus is not the ASCII one.
const inSwedish = `
using System;
using System.Globalization;
using System.Threading;
using RangeGate;

static class InSwedish
{
    static void Main(string[] arguments)
    {
        var culture = (CultureInfo)CultureInfo.InvariantCulture.Clone();
        culture.NumberFormat.NegativeSign = "\u2212";
        CultureInfo.DefaultThreadCurrentCulture = Thread.CurrentThread.CurrentCulture = culture;
        if ((-15).ToString() == "-15") throw new Exception("the culture is not in force");
        new Gateway(arguments[0], "range", "token").Extend("receipt", "session", -15).GetAwaiter().GetResult();
    }
}
`

// Minutes are written as the API reads them, in whichever language the till's Windows is.
func TestMinutesInEveryCulture(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"mcs", "mono"} {
		support.Program(t, program)
	}
	asked := make(chan string, 1)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.RequestURI()
		w.Header().Set("Trace-Id", "t")
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(api.Close)
	folder := copied(t, "csharp")
	require.NoError(t, os.WriteFile(filepath.Join(folder, "InSwedish.cs"), []byte(inSwedish), 0o600))
	for _, line := range [][]string{
		{
			"mcs", "-langversion:7", "-r:System.Net.Http", "-r:System.Runtime.Serialization", "-out:swedish.exe",
			"RangeGate.cs", "InSwedish.cs",
		},
		{"mono", "swedish.exe", api.URL},
	} {
		cmd := exec.CommandContext(t.Context(), line[0], line[1:]...)
		cmd.Dir = folder
		said, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", said)
	}
	require.Equal(t, "/sessions/session/modify?time=-15", <-asked)
}
