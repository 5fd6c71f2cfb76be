-- 140: retention. The records of a closed Run may go, and only so: first its row
-- in prunings, which says what went and when and stays for ever; then its rows,
-- which every other table refuses to give up without that one. The Run itself
-- stays, closed, and takes nothing in again: an old approval or key starts
-- nothing, whatever program asks.

CREATE TABLE IF NOT EXISTS prunings (
    run_id TEXT NOT NULL PRIMARY KEY REFERENCES runs (id),
    operation_key TEXT NOT NULL
        CHECK (length(operation_key) BETWEEN 1 AND 128 AND operation_key NOT GLOB '*[^A-Za-z0-9._:-]*'),
    admissions INTEGER NOT NULL CHECK (admissions >= 0),
    records INTEGER NOT NULL CHECK (records >= admissions),
    bytes INTEGER NOT NULL CHECK (bytes >= 0),
    oldest_us INTEGER NOT NULL,
    newest_us INTEGER NOT NULL CHECK (newest_us >= oldest_us),
    at_us INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS prunings_no_update BEFORE UPDATE ON prunings
BEGIN SELECT RAISE(ABORT, 'prunings is immutable'); END;
CREATE TRIGGER IF NOT EXISTS prunings_no_delete BEFORE DELETE ON prunings
BEGIN SELECT RAISE(ABORT, 'prunings is immutable'); END;
CREATE TRIGGER IF NOT EXISTS prunings_no_replace BEFORE INSERT ON prunings
WHEN EXISTS (SELECT 1 FROM prunings WHERE run_id = NEW.run_id)
BEGIN SELECT RAISE(ABORT, 'prunings has that id'); END;
CREATE TRIGGER IF NOT EXISTS prunings_over BEFORE INSERT ON prunings
WHEN NOT EXISTS (SELECT 1 FROM runs WHERE id = NEW.run_id AND status = 'closed')
    OR EXISTS (SELECT 1 FROM open_admissions WHERE run_id = NEW.run_id)
    OR EXISTS (SELECT 1 FROM open_jobs WHERE run_id = NEW.run_id)
    OR EXISTS (SELECT 1 FROM drydocks WHERE run_id = NEW.run_id AND status <> 'cleaned')
BEGIN SELECT RAISE(ABORT, 'only the records of a closed run without a command, a job or a drydock can go'); END;

-- What is closed stays closed.
CREATE TRIGGER IF NOT EXISTS runs_closed BEFORE UPDATE OF status ON runs
WHEN OLD.status = 'closed' AND NEW.status <> 'closed'
BEGIN SELECT RAISE(ABORT, 'a closed run stays closed'); END;

-- Nothing begins again.
CREATE TRIGGER IF NOT EXISTS operations_pruned BEFORE INSERT ON operations
WHEN EXISTS (SELECT 1 FROM prunings WHERE run_id = NEW.run_id)
BEGIN SELECT RAISE(ABORT, 'the records of that run were pruned'); END;
CREATE TRIGGER IF NOT EXISTS preparations_pruned BEFORE INSERT ON preparations
WHEN EXISTS (SELECT 1 FROM prunings WHERE run_id = NEW.run_id)
BEGIN SELECT RAISE(ABORT, 'the records of that run were pruned'); END;
CREATE TRIGGER IF NOT EXISTS approvals_pruned BEFORE INSERT ON approvals
WHEN EXISTS (SELECT 1 FROM prunings WHERE run_id = NEW.run_id)
BEGIN SELECT RAISE(ABORT, 'the records of that run were pruned'); END;
CREATE TRIGGER IF NOT EXISTS admissions_pruned BEFORE INSERT ON admissions
WHEN EXISTS (SELECT 1 FROM prunings WHERE run_id = NEW.run_id)
BEGIN SELECT RAISE(ABORT, 'the records of that run were pruned'); END;
CREATE TRIGGER IF NOT EXISTS drydocks_pruned BEFORE INSERT ON drydocks
WHEN EXISTS (SELECT 1 FROM prunings WHERE run_id = NEW.run_id)
BEGIN SELECT RAISE(ABORT, 'the records of that run were pruned'); END;
CREATE TRIGGER IF NOT EXISTS jobs_pruned BEFORE INSERT ON jobs
WHEN EXISTS (SELECT 1 FROM prunings WHERE run_id = NEW.run_id)
BEGIN SELECT RAISE(ABORT, 'the records of that run were pruned'); END;
CREATE TRIGGER IF NOT EXISTS job_owners_pruned BEFORE INSERT ON job_owners
WHEN EXISTS (SELECT 1 FROM prunings WHERE run_id = NEW.run_id)
BEGIN SELECT RAISE(ABORT, 'the records of that run were pruned'); END;

-- The one exception to what no row leaves.
DROP TRIGGER IF EXISTS admissions_no_delete;
CREATE TRIGGER admissions_no_delete BEFORE DELETE ON admissions
WHEN NOT EXISTS (SELECT 1 FROM prunings WHERE run_id = OLD.run_id)
BEGIN SELECT RAISE(ABORT, 'admissions is immutable'); END;
DROP TRIGGER IF EXISTS approvals_no_delete;
CREATE TRIGGER approvals_no_delete BEFORE DELETE ON approvals
WHEN NOT EXISTS (SELECT 1 FROM prunings WHERE run_id = OLD.run_id)
BEGIN SELECT RAISE(ABORT, 'approvals is immutable'); END;
DROP TRIGGER IF EXISTS drydocks_no_delete;
CREATE TRIGGER drydocks_no_delete BEFORE DELETE ON drydocks
WHEN NOT EXISTS (SELECT 1 FROM prunings WHERE run_id = OLD.run_id)
BEGIN SELECT RAISE(ABORT, 'drydocks are never deleted'); END;
DROP TRIGGER IF EXISTS events_no_delete;
CREATE TRIGGER events_no_delete BEFORE DELETE ON events
WHEN NOT EXISTS (SELECT 1 FROM prunings WHERE run_id = OLD.run_id)
BEGIN SELECT RAISE(ABORT, 'events is immutable'); END;
DROP TRIGGER IF EXISTS jobs_no_delete;
CREATE TRIGGER jobs_no_delete BEFORE DELETE ON jobs
WHEN NOT EXISTS (SELECT 1 FROM prunings WHERE run_id = OLD.run_id)
BEGIN SELECT RAISE(ABORT, 'jobs is immutable'); END;
DROP TRIGGER IF EXISTS job_owners_no_delete;
CREATE TRIGGER job_owners_no_delete BEFORE DELETE ON job_owners
WHEN NOT EXISTS (SELECT 1 FROM prunings WHERE run_id = OLD.run_id)
BEGIN SELECT RAISE(ABORT, 'job_owners are never deleted'); END;
DROP TRIGGER IF EXISTS operations_no_delete;
CREATE TRIGGER operations_no_delete BEFORE DELETE ON operations
WHEN NOT EXISTS (SELECT 1 FROM prunings WHERE run_id = OLD.run_id)
BEGIN SELECT RAISE(ABORT, 'operations are never deleted'); END;
DROP TRIGGER IF EXISTS preparations_no_delete;
CREATE TRIGGER preparations_no_delete BEFORE DELETE ON preparations
WHEN NOT EXISTS (SELECT 1 FROM prunings WHERE run_id = OLD.run_id)
BEGIN SELECT RAISE(ABORT, 'preparations is immutable'); END;
DROP TRIGGER IF EXISTS checkpoints_no_delete;
CREATE TRIGGER checkpoints_no_delete BEFORE DELETE ON checkpoints
WHEN NOT EXISTS (SELECT 1 FROM prunings WHERE run_id = OLD.run_id)
BEGIN SELECT RAISE(ABORT, 'checkpoints is immutable'); END;
DROP TRIGGER IF EXISTS drydock_steps_no_delete;
CREATE TRIGGER drydock_steps_no_delete BEFORE DELETE ON drydock_steps
WHEN NOT EXISTS (SELECT 1 FROM prunings WHERE run_id = OLD.run_id)
BEGIN SELECT RAISE(ABORT, 'drydock_steps is immutable'); END;
DROP TRIGGER IF EXISTS approval_consumptions_no_delete;
CREATE TRIGGER approval_consumptions_no_delete BEFORE DELETE ON approval_consumptions
WHEN NOT EXISTS (SELECT 1 FROM admissions AS a JOIN prunings AS p ON p.run_id = a.run_id WHERE a.id = OLD.admission_id)
BEGIN SELECT RAISE(ABORT, 'approval_consumptions is immutable'); END;
DROP TRIGGER IF EXISTS cancellations_no_delete;
CREATE TRIGGER cancellations_no_delete BEFORE DELETE ON cancellations
WHEN NOT EXISTS (SELECT 1 FROM admissions AS a JOIN prunings AS p ON p.run_id = a.run_id WHERE a.id = OLD.admission_id)
BEGIN SELECT RAISE(ABORT, 'cancellations is immutable'); END;
DROP TRIGGER IF EXISTS leases_no_delete;
CREATE TRIGGER leases_no_delete BEFORE DELETE ON leases
WHEN NOT EXISTS (SELECT 1 FROM admissions AS a JOIN prunings AS p ON p.run_id = a.run_id WHERE a.id = OLD.admission_id)
BEGIN SELECT RAISE(ABORT, 'leases are never deleted'); END;
DROP TRIGGER IF EXISTS lifecycle_log_no_delete;
CREATE TRIGGER lifecycle_log_no_delete BEFORE DELETE ON lifecycle_log
WHEN NOT EXISTS (SELECT 1 FROM admissions AS a JOIN prunings AS p ON p.run_id = a.run_id WHERE a.id = OLD.admission_id)
BEGIN SELECT RAISE(ABORT, 'lifecycle_log is immutable'); END;
DROP TRIGGER IF EXISTS receipts_no_delete;
CREATE TRIGGER receipts_no_delete BEFORE DELETE ON receipts
WHEN NOT EXISTS (SELECT 1 FROM admissions AS a JOIN prunings AS p ON p.run_id = a.run_id WHERE a.id = OLD.admission_id)
BEGIN SELECT RAISE(ABORT, 'receipts is immutable'); END;
DROP TRIGGER IF EXISTS log_receipts_no_delete;
CREATE TRIGGER log_receipts_no_delete BEFORE DELETE ON log_receipts
WHEN NOT EXISTS (SELECT 1 FROM admissions AS a JOIN prunings AS p ON p.run_id = a.run_id WHERE a.id = OLD.admission_id)
BEGIN SELECT RAISE(ABORT, 'log_receipts is immutable'); END;
DROP TRIGGER IF EXISTS approval_decisions_no_delete;
CREATE TRIGGER approval_decisions_no_delete BEFORE DELETE ON approval_decisions
WHEN NOT EXISTS (SELECT 1 FROM approvals AS a JOIN prunings AS p ON p.run_id = a.run_id WHERE a.id = OLD.approval_id)
BEGIN SELECT RAISE(ABORT, 'approval_decisions is immutable'); END;
DROP TRIGGER IF EXISTS approval_requests_no_delete;
CREATE TRIGGER approval_requests_no_delete BEFORE DELETE ON approval_requests
WHEN NOT EXISTS (SELECT 1 FROM approvals AS a JOIN prunings AS p ON p.run_id = a.run_id WHERE a.id = OLD.approval_id)
BEGIN SELECT RAISE(ABORT, 'approval_requests is immutable'); END;
DROP TRIGGER IF EXISTS approval_revocations_no_delete;
CREATE TRIGGER approval_revocations_no_delete BEFORE DELETE ON approval_revocations
WHEN NOT EXISTS (SELECT 1 FROM approvals AS a JOIN prunings AS p ON p.run_id = a.run_id WHERE a.id = OLD.approval_id)
BEGIN SELECT RAISE(ABORT, 'approval_revocations is immutable'); END;
DROP TRIGGER IF EXISTS job_transitions_no_delete;
CREATE TRIGGER job_transitions_no_delete BEFORE DELETE ON job_transitions
WHEN NOT EXISTS (SELECT 1 FROM jobs AS j JOIN prunings AS p ON p.run_id = j.run_id WHERE j.id = OLD.job_id)
BEGIN SELECT RAISE(ABORT, 'job_transitions is immutable'); END;
