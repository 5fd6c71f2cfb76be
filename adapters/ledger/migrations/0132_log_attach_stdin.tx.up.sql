-- 132: the write-ahead log admits the action attach_stdin, metadata only.

DROP TABLE IF EXISTS lifecycle_log_new;
CREATE TABLE lifecycle_log_new (
    admission_id TEXT NOT NULL REFERENCES admissions (id),
    sequence INTEGER NOT NULL CHECK (sequence >= 1),
    action TEXT NOT NULL CHECK (action IN ('create', 'start', 'attach_stdin', 'exit', 'remove', 'finalize')),
    phase TEXT NOT NULL CHECK (phase IN ('intent', 'done')),
    owner TEXT NOT NULL
        CHECK (length(owner) = 30 AND owner GLOB 'own_*' AND substr(owner, 5) NOT GLOB '*[^0-9A-HJKMNP-TV-Z]*'),
    generation INTEGER NOT NULL CHECK (generation >= 1),
    detail TEXT NOT NULL CHECK (json_valid(detail)),
    at_us INTEGER NOT NULL,
    CHECK (phase = 'done' OR action NOT IN ('exit', 'finalize')),
    PRIMARY KEY (admission_id, sequence)
) STRICT, WITHOUT ROWID;
INSERT INTO lifecycle_log_new (admission_id, sequence, action, phase, owner, generation, detail, at_us)
SELECT admission_id, sequence, action, phase, owner, generation, detail, at_us FROM lifecycle_log;
DROP TABLE lifecycle_log;
ALTER TABLE lifecycle_log_new RENAME TO lifecycle_log;
CREATE INDEX lifecycle_log_finalized ON lifecycle_log (admission_id) WHERE action = 'finalize';
CREATE TRIGGER lifecycle_log_no_update BEFORE UPDATE ON lifecycle_log
BEGIN SELECT RAISE(ABORT, 'lifecycle_log is immutable'); END;
CREATE TRIGGER lifecycle_log_no_delete BEFORE DELETE ON lifecycle_log
BEGIN SELECT RAISE(ABORT, 'lifecycle_log is immutable'); END;
CREATE TRIGGER lifecycle_log_next BEFORE INSERT ON lifecycle_log
WHEN NEW.sequence <> (SELECT coalesce(max(sequence), 0) + 1 FROM lifecycle_log WHERE admission_id = NEW.admission_id)
BEGIN SELECT RAISE(ABORT, 'lifecycle_log has another next sequence'); END;
