package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"cyberagent/adapters/ledger/ledgertest"
	"cyberagent/domain/id"
)

const (
	manyAdmissions = 100_000
	manyDangling   = 1000
)

// ledgers measures whether a ledger's size matters: a trivial command with an empty
// and with a large ledger in turns, and recovery of many dead owners' records.
func ledgers(ctx context.Context, l *lab) ([]Table, error) {
	src, err := l.source("source-ledger", map[string]string{"a.py": "print(1)\n"})
	if err != nil {
		return nil, err
	}
	small, err := l.home("ledger-small", "docker").flow(src)
	if err != nil {
		return nil, err
	}
	large, err := l.home("ledger-large", "docker").flow(src)
	if err != nil {
		return nil, err
	}
	// The copies belong to a Run of their own.
	seed, first, err := large.seeded(src)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(large.dir, "ledger.db")
	n := l.size(manyAdmissions, 100)
	if err := ledgertest.Multiply(ctx, path, first, 1, n, 0); err != nil {
		return nil, err
	}
	var withLarge, withSmall, status Sample
	for round := range l.rounds + 1 {
		measure := func(f *flow, to *Sample) func() error {
			return func() error { return f.execute(to) }
		}
		if err := inTurn(round, measure(large, &withLarge), measure(small, &withSmall)); err != nil {
			return nil, err
		}
		cmd := large.command("run", "standard-code", "status", large.run)
		if _, err := spent(cmd, &status, nil); err != nil {
			return nil, err
		}
	}
	lines := []Line{
		{What: fmt.Sprintf("`execute` with %d admissions in the ledger", n), Ours: withLarge[1:], Peer: withSmall[1:], PeerName: "an empty ledger", MostRatio: 1.10},
		{What: "`status` of a Run in it", Ours: status[1:]},
	}
	dangling := l.size(manyDangling, 10)
	// Each copy's log ends with the intent to create.
	if err := ledgertest.Multiply(ctx, path, first, n+1, dangling, 1); err != nil {
		return nil, err
	}
	var all Sample
	began := time.Now()
	if err := seed.ask(nil, "run", "standard-code", "recover", seed.run); err != nil {
		return nil, err
	}
	all = append(all, millis(time.Since(began))*100/float64(dangling))
	lines = append(lines, Line{What: "`recover` of " + strconv.Itoa(dangling) + " dead owners' records, each hundred", Ours: all, Most: 1000})
	return []Table{{Title: "The ledger's size", Unit: "ms", Lines: lines}}, nil
}

// seeded is a Run with one finished command.
func (h *home) seeded(source string) (*flow, id.Admission, error) {
	f, err := h.flow(source)
	if err != nil {
		return nil, "", err
	}
	cmd, err := f.approved()
	if err != nil {
		return nil, "", err
	}
	out, err := spent(cmd, &Sample{}, nil)
	if err != nil {
		return nil, "", err
	}
	e, err := f.follow(out)
	return f, id.Admission(e.ID), err
}

// execute approves and runs the trivial command once.
func (f *flow) execute(to *Sample) error {
	cmd, err := f.approved()
	if err != nil {
		return err
	}
	out, err := spent(cmd, to, nil)
	if err == nil {
		_, err = f.follow(out)
	}
	return err
}
