package config

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"go.yaml.in/yaml/v3"
)

// largest is how big a configuration file may be, in bytes.
const largest = 16 << 20

// Load reads the file at path and lays the environment, in the form of os.Environ, over it. A configuration that comes
// back without an error is complete and keeps every rule.
func Load(path string, environ []string) (Config, error) {
	file, err := os.Open(path)
	if err != nil {
		return Config{}, fmt.Errorf("read the configuration: %w", err)
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, largest+1)) // the one byte more tells Parse that it is too large
	if err != nil {
		return Config{}, fmt.Errorf("read the configuration: %w", err)
	}
	return Parse(data, environ)
}

// Parse is Load for a file already in memory. The error joins every [Fault], in the order file, environment, rules;
// text that is not YAML is the only fault of its file.
func Parse(data []byte, environ []string) (Config, error) {
	if len(data) > largest {
		return Config{}, Fault{Problem: fmt.Sprintf("larger than %d MiB", largest>>20)}
	}
	var found faults
	cfg, err := (&document{found: &found}).decode(data)
	if err != nil {
		return Config{}, err
	}
	cfg.lay(environ, &found)
	cfg.complete()
	cfg.validate(&found)
	if err := found.err(); err != nil {
		return Config{}, err
	}
	return cfg, nil
}

// Override lays the environment over a configuration that was not read from a file, fills in what is still missing and
// checks the outcome. After an error cfg is of no use.
func Override(cfg *Config, environ []string) error {
	var found faults
	cfg.lay(environ, &found)
	cfg.complete()
	cfg.validate(&found)
	return found.err()
}

// YAML is the configuration as it is in effect, defaults included, every secret as ***.
func YAML(cfg Config) ([]byte, error) {
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(cfg); err != nil {
		return nil, fmt.Errorf("write the configuration as YAML: %w", err)
	}
	return out.Bytes(), nil
}
