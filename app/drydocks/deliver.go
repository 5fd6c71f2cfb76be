package drydocks

import (
	"context"
	"strconv"

	"cyberagent/app/operation"
	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/ports"
)

// DeliveryProtocol names the answer of deliver.
const DeliveryProtocol = "drydock-delivery.v1"

// DeliveryView is a proven patch. The file stays when the Drydock is cleaned up.
type DeliveryView struct {
	Protocol         string             `json:"protocol_version"`
	RunID            id.Run             `json:"run_id"`
	DrydockID        id.Drydock         `json:"drydock_id"`
	CheckpointID     id.Checkpoint      `json:"checkpoint_id"`
	Generation       int64              `json:"generation"`
	BaseCommit       string             `json:"base_commit"`
	BaseTree         string             `json:"base_tree"`
	Tree             string             `json:"tree"`
	File             string             `json:"file"`
	SHA256           string             `json:"sha256"`
	Bytes            int64              `json:"size_bytes"`
	Changed          drydock.Counts     `json:"changed"`
	EmptyDirectories int64              `json:"empty_directories"`
	Excluded         []drydock.Excluded `json:"excluded"`
	Replayed         bool               `json:"replayed"`
}

// DeliverInput asks for the patch of the current Checkpoint.
type DeliverInput struct {
	Run          id.Run
	OperationKey string
}

// Deliver hands out the current Checkpoint as a patch against the fixed base
// commit. It refuses a Drydock with unrecorded changes (drydock_drifted), for
// they would be left behind. It never merges, pushes, or touches the source.
func (s *Service) Deliver(ctx context.Context, in DeliverInput) (DeliveryView, error) {
	key, v, err := s.delivered(ctx, in)
	if err != nil || v.Replayed {
		return v, err
	}
	st, err := s.state(ctx, in.Run)
	if err == nil {
		err = st.idle()
	}
	if err != nil {
		return v, err
	}
	d := st.drydock
	if !d.Whole() {
		return v, notReady(d)
	}
	if err := s.recorded(ctx, d); err != nil {
		return v, err
	}
	out, err := s.Deliveries.Deliver(ctx, d.Place, d.Checkpoint)
	if err != nil {
		return v, err
	}
	s.hit("deliver.published")
	now := s.Clock.Now()
	d = d.Deliver(now)
	v = DeliveryView{
		Protocol: DeliveryProtocol, RunID: d.Run, DrydockID: d.ID, CheckpointID: d.Checkpoint, Generation: d.Generation,
		BaseCommit: out.BaseCommit, BaseTree: out.BaseTree, Tree: out.Tree, File: out.File, SHA256: out.SHA256, Bytes: out.Bytes,
		Changed: out.Changed, EmptyDirectories: out.EmptyDirectories, Excluded: out.Excluded,
	}
	write := func(fn func(ports.Records) error) error { return s.Ledger.Write(ctx, fn) }
	v.Replayed, err = operation.Once(write, key, now, &v, func(rec ports.Records) error {
		st, err := readState(rec, in.Run)
		if err == nil {
			err = st.idle()
		}
		if err != nil {
			return err
		}
		return s.take(rec, d, s.step(d, drydock.VerbDeliver, drydock.Done, key.Name(), map[string]string{
			"base": out.BaseCommit, "tree": out.Tree, "sha256": out.SHA256, "bytes": strconv.FormatInt(out.Bytes, 10),
		}, now))
	})
	return v, err
}

// Delivered says whether a delivery is recorded under the operation key: then Deliver
// answers that one and does nothing. Nothing is changed by it. It returns
// invalid_argument for a key that is none.
func (s *Service) Delivered(ctx context.Context, in DeliverInput) (bool, error) {
	_, v, err := s.delivered(ctx, in)
	return v.Replayed, err
}

func (s *Service) delivered(ctx context.Context, in DeliverInput) (key operation.Key, v DeliveryView, err error) {
	key, err = operation.NewKey(in.Run, "drydock.deliver", in.OperationKey, nil)
	if err == nil {
		v.Replayed, _, err = s.recall(ctx, key, &v)
	}
	return key, v, err
}

// recorded refuses files that are not those of the current Checkpoint.
func (s *Service) recorded(ctx context.Context, d drydock.Drydock) error {
	changes, _, err := s.Worktrees.Drift(ctx, d.Place, d.Checkpoint, 1)
	if err != nil || len(changes) == 0 {
		return err
	}
	return fault.New(fault.DrydockDrifted, "the files differ from the current Checkpoint, first at %s", changes[0].Path).At("run").
		Hint("record them with `cyberagent drydock checkpoint %s`, or drop them with rewind", d.Run)
}
