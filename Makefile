# Every target is a line or two; what it needs and is missing it installs, or says that it cannot.
.PHONY: build run test lint bench fuzz soak clean tools

build: ; go build -o bin/rangegate ./cmd/rangegate

run: build ; bin/rangegate playground

test: tools ; RANGEGATE_NO_SKIP=1 go test -race -timeout 15m ./...

lint: ; .ci/lint

bench: ; go test -run '^$$' -bench . -benchmem ./...

fuzz: ; .ci/fuzz 30s

soak: tools ; ROUNDS=50 RANGEGATE_NO_SKIP=1 go test -count 1 -timeout 2h -run 'Kill' -v ./test/crash

tools: ; @.ci/tools

clean: ; rm -rf bin
