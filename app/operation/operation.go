// Package operation makes every effect happen once: an operation key is scoped
// to a Run and a verb, the same key with the same intent answers what was
// recorded, and the same key with another intent is a conflict that changes
// nothing (contract sections 1 and 5).
package operation

import (
	"encoding/json"
	"time"

	"cyberagent/domain/canon"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/limits"
	"cyberagent/ports"
)

// Key is one caller's wish for one effect.
type Key struct {
	run    id.Run
	verb   string
	key    string
	intent string
}

// NewKey checks a key; intent is everything that was asked for. It returns
// invalid_argument at operation_key.
func NewKey(r id.Run, verb, key string, intent any) (Key, error) {
	if err := Check(key); err != nil {
		return Key{}, err
	}
	return Key{run: r, verb: verb, key: key, intent: canon.Digest(intent)}, nil
}

// Check accepts 1 to 128 of [A-Za-z0-9._:-].
func Check(key string) error {
	if !id.ValidName(key, limits.OperationKeyLen) {
		return fault.New(fault.InvalidArgument, "not 1 to %d of A-Z, a-z, 0-9 and . _ : -", limits.OperationKeyLen).
			At("operation_key").Hint("choose a new name for this one effect, for example test-1, and repeat it only to ask for the same answer")
	}
	return nil
}

// Name is the key as the caller wrote it.
func (k Key) Name() string { return k.key }

// Find returns the recorded operation, nil when the key is new, or
// operation_conflict.
func (k Key) Find(rec ports.Records) (*ports.Operation, error) {
	return rec.FindOperation(k.run, k.verb, k.key, k.intent)
}

// Recall says what the key did before: answered decodes the recorded answer into
// v; begun says that its work was begun and has no answer yet.
func (k Key) Recall(rec ports.Records, v any) (answered, begun bool, err error) {
	op, err := k.Find(rec)
	switch {
	case err != nil || op == nil:
		return false, false, err
	case op.Answer == nil:
		return false, true, nil
	}
	if err := json.Unmarshal(op.Answer, v); err != nil {
		return false, false, fault.Wrap(fault.Internal, err, "unreadable recorded answer")
	}
	return true, false, nil
}

// Replay decodes a recorded answer into v. It says false for a new key and
// returns in_progress for one whose work is still under way.
func (k Key) Replay(rec ports.Records, v any) (bool, error) {
	answered, begun, err := k.Recall(rec, v)
	if begun {
		err = fault.New(fault.InProgress, "the operation %q is still under way", k.key).At("operation_key").
			Hint("wait and repeat the same call")
	}
	return answered, err
}

// Record keeps the key with its answer in the effect's own transaction. A nil
// answer means that the work goes on.
func (k Key) Record(rec ports.Records, answer any, now time.Time) error {
	op := ports.Operation{Run: k.run, Verb: k.verb, Key: k.key, Intent: k.intent, At: now}
	if answer != nil {
		b, err := canon.JSON(answer)
		if err != nil {
			return fault.Wrap(fault.Internal, err, "unencodable answer")
		}
		op.Answer = b
	}
	return rec.AddOperation(op)
}

// Once runs effect in one write transaction unless the key was used: then it
// decodes the recorded answer into v and says true. effect fills v.
func Once(write func(func(ports.Records) error) error, k Key, now time.Time, v any, effect func(ports.Records) error) (replayed bool, err error) {
	err = write(func(rec ports.Records) error {
		replayed, err = k.Replay(rec, v)
		if err != nil || replayed {
			return err
		}
		if err := effect(rec); err != nil {
			return err
		}
		return k.Record(rec, v, now)
	})
	return replayed, err
}

// Answer keeps the answer of an operation that was recorded without one.
func (k Key) Answer(rec ports.Records, answer any) error {
	b, err := canon.JSON(answer)
	if err != nil {
		return fault.Wrap(fault.Internal, err, "unencodable answer")
	}
	return rec.AnswerOperation(k.run, k.verb, k.key, b)
}
