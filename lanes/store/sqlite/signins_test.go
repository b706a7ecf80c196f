package sqlite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rangegate/lanes/store"
	"rangegate/lanes/store/storetest"
)

func TestSignInsBesideTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rangegate.db")
	storetest.RunSignIns(t, func(t *testing.T) store.SignIns { return signInsBeside(t, path) })
	for _, suffix := range []string{".secret", ".signed-out"} {
		info, err := os.Stat(path + suffix)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), suffix)
	}
	files, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, files, 2, "nothing else is left")
}

func signInsBeside(t *testing.T, path string) *SignIns {
	s, err := SignInsBeside(path)
	require.NoError(t, err)
	return s
}

// The files stand beside the target of a symbolic link, as the WAL does.
func TestSignInsFollowASymbolicLink(t *testing.T) {
	folder, elsewhere := t.TempDir(), t.TempDir()
	target := filepath.Join(elsewhere, "there.db")
	require.NoError(t, os.WriteFile(target, nil, 0o600))
	link := filepath.Join(folder, "rangegate.db")
	require.NoError(t, os.Symlink(target, link))
	require.NoError(t, signInsBeside(t, link).NewSecret(t.Context()))
	require.FileExists(t, target+".secret")
}

func TestASecretThatOthersCouldReadIsReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rangegate.db")
	s := signInsBeside(t, path)
	exposed, _, err := s.Load(t.Context(), [32]byte{1})
	require.NoError(t, err)
	require.NoError(t, os.Chmod(path+".secret", 0o640))
	secret, _, err := s.Load(t.Context(), exposed)
	require.NoError(t, err)
	require.NotEqual(t, exposed, secret)
	info, err := os.Stat(path + ".secret")
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

// Whatever is in the files, an error names the file and shows nothing of the secret; and the old files stand
// when the new ones cannot be written.
func TestDamagedSignIns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rangegate.db")
	s := signInsBeside(t, path)
	const planted = "5ec2e75ec2e7"
	for _, damaged := range []string{"", planted, strings.Repeat("5ec2e7zz", 8), strings.Repeat(planted, 6)} {
		require.NoError(t, os.WriteFile(path+".secret", []byte(damaged), 0o600))
		_, _, err := s.Load(t.Context(), [32]byte{1})
		require.ErrorContains(t, err, path+".secret")
		require.NotContains(t, err.Error(), "5ec2e7")
		text, err := os.ReadFile(path + ".secret")
		require.NoError(t, err)
		require.Equal(t, damaged, string(text))
	}
	require.NoError(t, s.NewSecret(t.Context()))
	_, _, err := s.Load(t.Context(), [32]byte{1})
	require.NoError(t, err)
	for _, damaged := range []string{
		"x\n", strings.Repeat("ab", 32) + "\n", strings.Repeat("ab", 31) + " 1\n",
		strings.Repeat("ab", 32) + " 1x\n",
	} {
		require.NoError(t, os.WriteFile(path+".signed-out", []byte(damaged), 0o600))
		_, _, err := s.Load(t.Context(), [32]byte{1})
		require.ErrorContains(t, err, path+".signed-out")
		require.ErrorContains(t, s.SignOut(t.Context(), map[[32]byte]time.Time{{1}: time.Now().Add(time.Hour)}, nil),
			path+".signed-out")
	}
}
