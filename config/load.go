package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"go.yaml.in/yaml/v3"
)

// maxBytes is the size limit of a configuration file.
const maxBytes = 16 << 20

// Load reads the file at path and applies the environment, in the form of os.Environ. A configuration returned without
// an error is complete and keeps every rule. The error is of the file, or joins every [Fault].
func Load(path string, environ []string) (Config, error) {
	file, err := os.Open(path)
	if err != nil {
		return Config{}, fmt.Errorf("read the configuration: %w", err)
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, maxBytes+1)) // one byte more lets Parse see that it is too large
	if err != nil {
		return Config{}, fmt.Errorf("read the configuration: %w", err)
	}
	return Parse(data, environ)
}

// Parse is Load for a file in memory. The error joins every [Fault], in the order file, environment, rules; text that is
// not YAML is the only fault of its file.
func Parse(data []byte, environ []string) (Config, error) {
	if len(data) > maxBytes {
		return Config{}, Fault{Problem: fmt.Sprintf("larger than %d MiB", maxBytes>>20)}
	}
	var found faults
	cfg, err := (&document{found: &found}).decode(data)
	if err != nil {
		return Config{}, err
	}
	if err := cfg.finish(environ, &found); err != nil {
		return Config{}, err
	}
	return cfg, nil
}

// Override applies the environment to a configuration that does not come from a file, sets the defaults and checks the
// rules. After an error cfg must not be used.
func Override(cfg *Config, environ []string) error {
	return cfg.finish(environ, new(faults))
}

func (c *Config) finish(environ []string, found *faults) error {
	c.override(environ, found)
	c.complete()
	c.validate(found)
	return errors.Join(found.list...)
}

// YAML returns the effective configuration, with its defaults, and with *** for every secret.
func YAML(cfg Config) ([]byte, error) {
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(cfg); err != nil {
		return nil, fmt.Errorf("write the configuration as YAML: %w", err)
	}
	return out.Bytes(), nil
}
