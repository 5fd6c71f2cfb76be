-- 138: which Jobs have not ended, so that a launch looks at these only and not at
-- every Job there ever was. It follows from job_transitions, by triggers alone.

CREATE TABLE IF NOT EXISTS open_jobs (
    job_id TEXT NOT NULL PRIMARY KEY REFERENCES jobs (id),
    run_id TEXT NOT NULL REFERENCES runs (id)
) STRICT, WITHOUT ROWID;

INSERT INTO open_jobs (job_id, run_id)
SELECT id, run_id FROM jobs WHERE NOT EXISTS (SELECT 1 FROM job_transitions WHERE job_id = jobs.id
    AND state IN ('succeeded', 'failed', 'cancelled', 'timed_out', 'interrupted'))
    AND NOT EXISTS (SELECT 1 FROM open_jobs WHERE job_id = jobs.id);

CREATE TRIGGER IF NOT EXISTS job_transitions_opens AFTER INSERT ON job_transitions
WHEN NEW.version = 1
BEGIN INSERT INTO open_jobs (job_id, run_id) SELECT id, run_id FROM jobs WHERE id = NEW.job_id; END;
CREATE TRIGGER IF NOT EXISTS job_transitions_ends AFTER INSERT ON job_transitions
WHEN NEW.state IN ('succeeded', 'failed', 'cancelled', 'timed_out', 'interrupted')
BEGIN DELETE FROM open_jobs WHERE job_id = NEW.job_id; END;
CREATE TRIGGER IF NOT EXISTS open_jobs_no_update BEFORE UPDATE ON open_jobs
BEGIN SELECT RAISE(ABORT, 'open_jobs follows from job_transitions'); END;
CREATE TRIGGER IF NOT EXISTS open_jobs_no_delete BEFORE DELETE ON open_jobs
WHEN NOT EXISTS (SELECT 1 FROM job_transitions WHERE job_id = OLD.job_id
    AND state IN ('succeeded', 'failed', 'cancelled', 'timed_out', 'interrupted'))
BEGIN SELECT RAISE(ABORT, 'open_jobs follows from job_transitions'); END;
CREATE TRIGGER IF NOT EXISTS open_jobs_no_replace BEFORE INSERT ON open_jobs
WHEN EXISTS (SELECT 1 FROM open_jobs WHERE job_id = NEW.job_id)
BEGIN SELECT RAISE(ABORT, 'open_jobs has that id'); END;
