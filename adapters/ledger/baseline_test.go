package ledger

import (
	"fmt"
	"strings"
	"testing"

	"cyberagent/domain/canon"
	"cyberagent/domain/command"
	"cyberagent/domain/drydock"
	"cyberagent/domain/id"
)

// baselineRows is what testdata/v127.db holds: one Run whose v1 command was
// running when its process died, and a second one whose proposal is approved
// and unused. Written in SQL, for no code of today writes schema 127.
func baselineRows(t testing.TB) string {
	t.Helper()
	var b strings.Builder
	add := func(format string, args ...any) { fmt.Fprintf(&b, format+";\n", args...) }
	const us = 1_700_000_000_000_123
	for n := 1; n <= 2; n++ {
		rid, did := name[id.Run](id.KindRun, n), name[id.Drydock](id.KindDrydock, n)
		cid, pid, aid := name[id.Checkpoint](id.KindCheckpoint, n), name[id.Preparation](id.KindPreparation, n), name[id.Approval](id.KindApproval, n)
		add(`INSERT INTO runs VALUES ('%s', 'it''s run %d ☂', '/src/project-%d', 'code', 'active', %d, %d)`, rid, n, n, us+n, us+n+5)
		add(`INSERT INTO run_profiles VALUES ('%s', 1, 'none', %d), ('%s', 2, 'docker', %d)`, rid, us, rid, us+1)
		add(`INSERT INTO run_permissions VALUES ('%s', 1, 'read_only', %d), ('%s', 2, 'full_access', %d)`, rid, us, rid, us+1)
		source, err := document(drydock.Source{TopLevel: "/src/project", ObjectFormat: "sha1", HeadCommit: strings.Repeat("a", 40)})
		if err != nil {
			t.Fatal(err)
		}
		// Device and inode numbers with the highest bit set are negative here.
		add(`INSERT INTO drydocks VALUES ('%s', '%s', 'ready', 2, NULL, '%s', '/home/op/drydocks/%d', '/home/op/shadow.git', '/src/project/.git',
			'cyberagent/drydock/%d', 2049, -9223372036854775803, -1, 7, '%s', 'acl', '', %d, %d, %d)`,
			did, rid, source, n, n, hex64("c"), us, us+9, us+7*86400*1_000_000)
		add(`INSERT INTO checkpoints VALUES ('%s', '%s', '%s', NULL, 1, 'create', NULL, '%s', '%s', '%s', '', 3, 99, 3, 0, 0, '[]', %d)`,
			cid, did, rid, name[id.Receipt](id.KindReceipt, n), strings.Repeat("1", 40), strings.Repeat("2", 40), us)
		add(`UPDATE drydocks SET checkpoint_id = '%s', generation = 3 WHERE id = '%s'`, cid, did)

		cmd, err := command.New(command.Input{Toolchain: "go", Args: []string{"test", "./..."}, Purpose: "does it's thing"})
		if err != nil {
			t.Fatal(err)
		}
		wire, err := document(cmd.Wire())
		if err != nil {
			t.Fatal(err)
		}
		// A v1 manifest: fields that version 2 does not know, and none of its own.
		v1 := fmt.Sprintf(`{"command_sha256":"%s","network":"none","protocol_version":"standard-code-docker-runner.v1","run_id":"%s","stdin":"none"}`,
			cmd.Fingerprint(), rid)
		add(`INSERT INTO preparations VALUES ('%s', '%s', '%s', X'%x', '%s', '%s', 1, '%s', '%s', 2, 2, 'docker', '%s', %d)`,
			pid, rid, canon.SHA256([]byte(v1)), v1, cmd.Fingerprint(), did, cid, hex64("b"), digest("d"), us+10)
		add(`INSERT INTO approvals VALUES ('%s', '%s', '%s', '%s', %d, %d)`, aid, pid, rid, strings.ReplaceAll(wire, "'", "''"), us+11, us+11+86400*1_000_000)
		add(`INSERT INTO approval_requests VALUES ('%s', 'bob', %d)`, aid, us+12)
		add(`INSERT INTO approval_decisions VALUES ('%s', 'approve', 'ann', '', %d, %d)`, aid, us+13, us+13+3600*1_000_000)
		add(`INSERT INTO events (run_id, kind, subject, detail, at_us) VALUES ('%s', 'preparation_made', '%s', '{"version":"1"}', %d)`, rid, pid, us+14)
		add(`INSERT INTO operations VALUES ('%s', 'prepare', 'k-%d', '%s', X'7b7d', %d)`, rid, n, hex64("6"), us+15)
	}
	add(`INSERT INTO approval_revocations VALUES ('%s', %d)`, name[id.Approval](id.KindApproval, 2), us+16)
	add(`INSERT INTO operations VALUES ('', 'run-create', 'k-1', '%s', NULL, %d)`, hex64("7"), us)

	adm := name[id.Admission](id.KindAdmission, 1)
	add("%s", admission127(1))
	add(`INSERT INTO approval_consumptions VALUES ('%s', '%s', %d)`, name[id.Approval](id.KindApproval, 1), adm, us+21)
	first, second := name[id.Owner](id.KindOwner, 11), name[id.Owner](id.KindOwner, 12)
	add(`INSERT INTO admission_leases VALUES ('%s', 1, '%s', %d, 1), ('%s', 2, '%s', %d, 0)`, adm, first, us+30, adm, second, us+90)
	for i, e := range []string{"'create', 'intent'", "'create', 'done'", "'start', 'intent'", "'start', 'done'"} {
		owner, generation := first, 1
		if i > 1 {
			owner, generation = second, 2
		}
		add(`INSERT INTO lifecycle_log VALUES ('%s', %d, %s, '%s', %d, '{"n":"%d"}', %d)`, adm, i+1, e, owner, generation, i, us+40+i)
	}
	return b.String()
}

// admission127 inserts the admission of the n-th preparation as schemas 127 to
// 133 have it.
func admission127(n int) string {
	return fmt.Sprintf(`INSERT INTO admissions SELECT '%s', run_id, id, '%s', 'full_access', manifest_sha256, command_sha256, drydock_id,
		generation, checkpoint_id, binding_sha256, profile_revision, permission_revision, engine, image_digest, '%s', 'execute-%d', created_at_us
		FROM preparations WHERE id = '%s'`,
		name[id.Admission](id.KindAdmission, n), name[id.Approval](id.KindApproval, n), digest("e"), n, name[id.Preparation](id.KindPreparation, n))
}
