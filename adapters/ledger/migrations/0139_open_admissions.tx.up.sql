-- 139: which admissions are not finalized, so that a verb looks at these only and
-- not at every admission there ever was. It follows from admissions and
-- lifecycle_log, by triggers alone.

CREATE TABLE IF NOT EXISTS open_admissions (
    admission_id TEXT NOT NULL PRIMARY KEY REFERENCES admissions (id),
    run_id TEXT NOT NULL REFERENCES runs (id)
) STRICT, WITHOUT ROWID;

INSERT INTO open_admissions (admission_id, run_id)
SELECT id, run_id FROM admissions
WHERE NOT EXISTS (SELECT 1 FROM lifecycle_log WHERE admission_id = admissions.id AND action = 'finalize')
    AND NOT EXISTS (SELECT 1 FROM open_admissions WHERE admission_id = admissions.id);

CREATE TRIGGER IF NOT EXISTS admissions_opens AFTER INSERT ON admissions
BEGIN INSERT INTO open_admissions (admission_id, run_id) VALUES (NEW.id, NEW.run_id); END;
CREATE TRIGGER IF NOT EXISTS lifecycle_log_closes AFTER INSERT ON lifecycle_log
WHEN NEW.action = 'finalize'
BEGIN DELETE FROM open_admissions WHERE admission_id = NEW.admission_id; END;
CREATE TRIGGER IF NOT EXISTS open_admissions_no_update BEFORE UPDATE ON open_admissions
BEGIN SELECT RAISE(ABORT, 'open_admissions follows from lifecycle_log'); END;
CREATE TRIGGER IF NOT EXISTS open_admissions_no_delete BEFORE DELETE ON open_admissions
WHEN NOT EXISTS (SELECT 1 FROM lifecycle_log WHERE admission_id = OLD.admission_id AND action = 'finalize')
BEGIN SELECT RAISE(ABORT, 'open_admissions follows from lifecycle_log'); END;
CREATE TRIGGER IF NOT EXISTS open_admissions_no_replace BEFORE INSERT ON open_admissions
WHEN EXISTS (SELECT 1 FROM open_admissions WHERE admission_id = NEW.admission_id)
BEGIN SELECT RAISE(ABORT, 'open_admissions has that id'); END;
