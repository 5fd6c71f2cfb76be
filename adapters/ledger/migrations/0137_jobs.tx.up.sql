-- 137: Jobs of the Command Runtime: their owners' heartbeats, what each is, and
-- every step that it took. Neither output nor input has a column here.

CREATE TABLE IF NOT EXISTS job_owners (
    id TEXT NOT NULL PRIMARY KEY
        CHECK (length(id) = 30 AND id GLOB 'own_*' AND substr(id, 5) NOT GLOB '*[^0-9A-HJKMNP-TV-Z]*'),
    run_id TEXT NOT NULL REFERENCES runs (id),
    boot_id TEXT NOT NULL CHECK (length(boot_id) BETWEEN 1 AND 128),
    expires_boot_ns INTEGER NOT NULL CHECK (expires_boot_ns >= 0),
    released INTEGER NOT NULL CHECK (released IN (0, 1)),
    started_at_us INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS job_owners_identity BEFORE UPDATE OF id, run_id, boot_id, started_at_us ON job_owners
BEGIN SELECT RAISE(ABORT, 'the identity of a job owner is immutable'); END;
CREATE TRIGGER IF NOT EXISTS job_owners_released BEFORE UPDATE ON job_owners
WHEN OLD.released = 1
BEGIN SELECT RAISE(ABORT, 'a released job owner stays released'); END;
CREATE TRIGGER IF NOT EXISTS job_owners_no_delete BEFORE DELETE ON job_owners
BEGIN SELECT RAISE(ABORT, 'job_owners are never deleted'); END;
CREATE TRIGGER IF NOT EXISTS job_owners_no_replace BEFORE INSERT ON job_owners
WHEN EXISTS (SELECT 1 FROM job_owners WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'job_owners has that id'); END;

CREATE TABLE IF NOT EXISTS jobs (
    id TEXT NOT NULL PRIMARY KEY
        CHECK (length(id) = 30 AND id GLOB 'job_*' AND substr(id, 5) NOT GLOB '*[^0-9A-HJKMNP-TV-Z]*'),
    run_id TEXT NOT NULL REFERENCES runs (id),
    owner_id TEXT NOT NULL REFERENCES job_owners (id),
    preparation_id TEXT NOT NULL REFERENCES preparations (id),
    approval_id TEXT NOT NULL REFERENCES approvals (id),
    stdin TEXT NOT NULL CHECK (stdin IN ('closed', 'pipe')),
    operation_key TEXT NOT NULL
        CHECK (length(operation_key) BETWEEN 1 AND 128 AND operation_key NOT GLOB '*[^A-Za-z0-9._:-]*'),
    created_at_us INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS jobs_of_run ON jobs (run_id, created_at_us, id);
CREATE TRIGGER IF NOT EXISTS jobs_no_update BEFORE UPDATE ON jobs
BEGIN SELECT RAISE(ABORT, 'jobs is immutable'); END;
CREATE TRIGGER IF NOT EXISTS jobs_no_delete BEFORE DELETE ON jobs
BEGIN SELECT RAISE(ABORT, 'jobs is immutable'); END;
CREATE TRIGGER IF NOT EXISTS jobs_no_replace BEFORE INSERT ON jobs
WHEN EXISTS (SELECT 1 FROM jobs WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'jobs has that id'); END;

CREATE TABLE IF NOT EXISTS job_transitions (
    job_id TEXT NOT NULL REFERENCES jobs (id),
    version INTEGER NOT NULL CHECK (version >= 1),
    state TEXT NOT NULL CHECK (state IN (
        'prepared', 'running', 'stopping', 'succeeded', 'failed', 'cancelled', 'timed_out', 'interrupted')),
    admission_id TEXT REFERENCES admissions (id),
    reason TEXT NOT NULL CHECK (length(reason) <= 64 AND reason NOT GLOB '*[^a-z0-9_]*'),
    at_us INTEGER NOT NULL,
    PRIMARY KEY (job_id, version),
    CHECK ((version = 1) = (state = 'prepared'))
) STRICT, WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS job_transitions_no_update BEFORE UPDATE ON job_transitions
BEGIN SELECT RAISE(ABORT, 'job_transitions is immutable'); END;
CREATE TRIGGER IF NOT EXISTS job_transitions_no_delete BEFORE DELETE ON job_transitions
BEGIN SELECT RAISE(ABORT, 'job_transitions is immutable'); END;
CREATE TRIGGER IF NOT EXISTS job_transitions_next BEFORE INSERT ON job_transitions
WHEN NEW.version <> (SELECT coalesce(max(version), 0) + 1 FROM job_transitions WHERE job_id = NEW.job_id)
BEGIN SELECT RAISE(ABORT, 'job_transitions has another next version'); END;
CREATE TRIGGER IF NOT EXISTS job_transitions_ended BEFORE INSERT ON job_transitions
WHEN EXISTS (SELECT 1 FROM job_transitions WHERE job_id = NEW.job_id
    AND state IN ('succeeded', 'failed', 'cancelled', 'timed_out', 'interrupted'))
BEGIN SELECT RAISE(ABORT, 'the job has ended'); END;
