-- 135: sticky cancellations, receipts of finished admissions, and the random
-- identity of this ledger.

CREATE TABLE IF NOT EXISTS installation (
    singleton INTEGER NOT NULL PRIMARY KEY CHECK (singleton = 1),
    id TEXT NOT NULL
        CHECK (length(id) = 31 AND id GLOB 'inst_*' AND substr(id, 6) NOT GLOB '*[^0-9A-HJKMNP-TV-Z]*')
) STRICT;
CREATE TRIGGER IF NOT EXISTS installation_no_update BEFORE UPDATE ON installation
BEGIN SELECT RAISE(ABORT, 'installation is immutable'); END;
CREATE TRIGGER IF NOT EXISTS installation_no_delete BEFORE DELETE ON installation
BEGIN SELECT RAISE(ABORT, 'installation is immutable'); END;
CREATE TRIGGER IF NOT EXISTS installation_no_replace BEFORE INSERT ON installation
WHEN EXISTS (SELECT 1 FROM installation)
BEGIN SELECT RAISE(ABORT, 'installation has its id'); END;

CREATE TABLE IF NOT EXISTS cancellations (
    admission_id TEXT NOT NULL PRIMARY KEY REFERENCES admissions (id),
    reason TEXT NOT NULL CHECK (length(reason) <= 1200),
    cancelled_by TEXT NOT NULL CHECK (length(cancelled_by) <= 128),
    at_us INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS cancellations_no_update BEFORE UPDATE ON cancellations
BEGIN SELECT RAISE(ABORT, 'cancellations is immutable'); END;
CREATE TRIGGER IF NOT EXISTS cancellations_no_delete BEFORE DELETE ON cancellations
BEGIN SELECT RAISE(ABORT, 'cancellations is immutable'); END;
CREATE TRIGGER IF NOT EXISTS cancellations_no_replace BEFORE INSERT ON cancellations
WHEN EXISTS (SELECT 1 FROM cancellations WHERE admission_id = NEW.admission_id)
BEGIN SELECT RAISE(ABORT, 'cancellations has that id'); END;

-- The one end of an admission.
CREATE TABLE IF NOT EXISTS receipts (
    admission_id TEXT NOT NULL PRIMARY KEY REFERENCES admissions (id),
    terminal TEXT NOT NULL CHECK (terminal IN ('removed', 'finalized')),
    status TEXT NOT NULL CHECK (status IN ('succeeded', 'failed', 'cancelled', 'timed_out')),
    reason TEXT NOT NULL CHECK (reason IN (
        'integrity_lost', 'isolation_mismatch', 'never_started', 'start_failed', 'workspace_growth_bytes',
        'workspace_growth_entries', 'workspace_growth_unattributed', 'headroom', 'authority_drift', 'cancelled',
        'owner_lost', 'timeout', 'engine_lost', 'runner_failure', 'oom_killed', 'pids_limit', 'file_size',
        'cache_full', 'signaled', 'exited')),
    exit_code INTEGER CHECK (exit_code BETWEEN 0 AND 255),
    signal TEXT NOT NULL CHECK (length(signal) <= 64),
    result BLOB NOT NULL CHECK (length(result) > 0),
    started_at_us INTEGER,
    ended_at_us INTEGER NOT NULL,
    CHECK ((exit_code IS NOT NULL) = (reason = 'exited')),
    CHECK (status <> 'succeeded' OR exit_code IS 0)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS receipts_no_update BEFORE UPDATE ON receipts
BEGIN SELECT RAISE(ABORT, 'receipts is immutable'); END;
CREATE TRIGGER IF NOT EXISTS receipts_no_delete BEFORE DELETE ON receipts
BEGIN SELECT RAISE(ABORT, 'receipts is immutable'); END;
CREATE TRIGGER IF NOT EXISTS receipts_no_replace BEFORE INSERT ON receipts
WHEN EXISTS (SELECT 1 FROM receipts WHERE admission_id = NEW.admission_id)
BEGIN SELECT RAISE(ABORT, 'receipts has that id'); END;

-- Counts and hashes of what a stream carried, never the bytes.
CREATE TABLE IF NOT EXISTS log_receipts (
    admission_id TEXT NOT NULL REFERENCES receipts (admission_id),
    position INTEGER NOT NULL CHECK (position >= 0),
    kind TEXT NOT NULL CHECK (kind = 'logs'),
    stream TEXT NOT NULL CHECK (stream IN ('stdout', 'stderr')),
    sha256 TEXT NOT NULL CHECK (length(sha256) = 64 AND sha256 NOT GLOB '*[^0-9a-f]*'),
    size_bytes INTEGER NOT NULL CHECK (size_bytes >= 0),
    kept_bytes INTEGER NOT NULL CHECK (kept_bytes BETWEEN 0 AND 262144),
    lines INTEGER NOT NULL CHECK (lines >= 0),
    truncated INTEGER NOT NULL CHECK (truncated IN (0, 1)),
    lost INTEGER NOT NULL CHECK (lost IN (0, 1)),
    PRIMARY KEY (admission_id, position),
    UNIQUE (admission_id, stream)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS log_receipts_no_update BEFORE UPDATE ON log_receipts
BEGIN SELECT RAISE(ABORT, 'log_receipts is immutable'); END;
CREATE TRIGGER IF NOT EXISTS log_receipts_no_delete BEFORE DELETE ON log_receipts
BEGIN SELECT RAISE(ABORT, 'log_receipts is immutable'); END;
CREATE TRIGGER IF NOT EXISTS log_receipts_no_replace BEFORE INSERT ON log_receipts
WHEN EXISTS (SELECT 1 FROM log_receipts WHERE admission_id = NEW.admission_id AND position = NEW.position)
    OR EXISTS (SELECT 1 FROM log_receipts WHERE admission_id = NEW.admission_id AND stream = NEW.stream)
BEGIN SELECT RAISE(ABORT, 'log_receipts has that key'); END;
