# Every target is a line or two; what it needs and is missing it installs, or says that it cannot.
.PHONY: build run cluster test simulate contract lint bench profile fuzz soak mutants package clean tools

build: ; go build -o bin/rangegate ./cmd/rangegate

run: build ; bin/rangegate playground

# Three nodes, a Redis and a load balancer on this machine, and a page that shows which node owns what: http://127.0.0.1:8081.
cluster: ; go run ./cmd/rangecluster

test: tools ; .ci/test

# An installation in virtual time, from one seed: every delay and every fault is drawn from it.
simulate: ; SEED=$(or $(SEED),1) go test -count 1 -v ./test/simulation

# Some of the tests: the gateway against its documents and against standards, with the tools of others; the code against
# the rules of its packages.
contract: tools ; RANGEGATE_NO_SKIP=1 go test -count 1 -timeout 15m -v ./test/contract/...

lint: ; .ci/lint

# Every Go benchmark for a moment, then the table of ours beside its limits. For benchstat: go test -run '^$' -bench . -count 10 ./...
bench: ; go test -run '^$$' -bench . -benchmem -benchtime 50ms $$(grep -rl '^func Benchmark' --include='*_test.go' . | xargs -n1 dirname | sort -u) | grep -E '^(pkg|Benchmark)' && go run ./cmd/rangebench --json bin/bench/run.json --plots bin/bench

# Where the time and the memory of what is measured go, and in which functions: ONLY="http/ webhook" for some of it.
profile: ; .ci/profile bin/profile $(ONLY)

fuzz: ; .ci/fuzz 30s

soak: tools ; .ci/soak

# Whether the tests of lanes, webhook and catalog notice each changed operator. docs/mutants.md lists the changes that no test can notice.
mutants: tools ; nice .ci/mutants

# The binaries, the Debian packages and the bills of materials for amd64 and arm64, with their checksums, in dist/.
package: ; deploy/package

tools: ; @.ci/tools

clean: ; rm -rf bin dist
