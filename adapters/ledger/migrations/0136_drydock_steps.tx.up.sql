-- 136: receipts of what was done to a Drydock, and its life restated where no
-- code can forget it.

CREATE TABLE IF NOT EXISTS drydock_steps (
    receipt_id TEXT NOT NULL PRIMARY KEY
        CHECK (length(receipt_id) = 31 AND receipt_id GLOB 'rcpt_*' AND substr(receipt_id, 6) NOT GLOB '*[^0-9A-HJKMNP-TV-Z]*'),
    drydock_id TEXT NOT NULL REFERENCES drydocks (id),
    run_id TEXT NOT NULL REFERENCES runs (id),
    sequence INTEGER NOT NULL CHECK (sequence >= 1),
    verb TEXT NOT NULL CHECK (verb IN ('rewind', 'deliver', 'fork', 'repair', 'cleanup', 'reconcile')),
    phase TEXT NOT NULL CHECK (phase IN ('begun', 'done', 'kept')),
    generation INTEGER NOT NULL CHECK (generation >= 0),
    checkpoint_id TEXT REFERENCES checkpoints (id) DEFERRABLE INITIALLY DEFERRED,
    operation_key TEXT NOT NULL
        CHECK (length(operation_key) <= 128 AND operation_key NOT GLOB '*[^A-Za-z0-9._:-]*'),
    facts TEXT NOT NULL CHECK (json_valid(facts) AND length(facts) <= 16384),
    at_us INTEGER NOT NULL,
    UNIQUE (drydock_id, sequence)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS drydock_steps_no_update BEFORE UPDATE ON drydock_steps
BEGIN SELECT RAISE(ABORT, 'drydock_steps is immutable'); END;
CREATE TRIGGER IF NOT EXISTS drydock_steps_no_delete BEFORE DELETE ON drydock_steps
BEGIN SELECT RAISE(ABORT, 'drydock_steps is immutable'); END;
CREATE TRIGGER IF NOT EXISTS drydock_steps_no_replace BEFORE INSERT ON drydock_steps
WHEN EXISTS (SELECT 1 FROM drydock_steps WHERE receipt_id = NEW.receipt_id)
BEGIN SELECT RAISE(ABORT, 'drydock_steps has that id'); END;
CREATE TRIGGER IF NOT EXISTS drydock_steps_next BEFORE INSERT ON drydock_steps
WHEN NEW.sequence <> (SELECT coalesce(max(sequence), 0) + 1 FROM drydock_steps WHERE drydock_id = NEW.drydock_id)
BEGIN SELECT RAISE(ABORT, 'drydock_steps has another next sequence'); END;
-- Once its clean-up began, a Drydock is nothing but that.
CREATE TRIGGER IF NOT EXISTS drydock_steps_cleaning BEFORE INSERT ON drydock_steps
WHEN NEW.verb NOT IN ('cleanup', 'repair', 'reconcile')
    AND EXISTS (SELECT 1 FROM drydock_steps WHERE drydock_id = NEW.drydock_id AND verb = 'cleanup' AND phase = 'begun')
BEGIN SELECT RAISE(ABORT, 'the drydock is being cleaned up'); END;

CREATE TRIGGER IF NOT EXISTS drydocks_life BEFORE UPDATE OF status ON drydocks
WHEN OLD.status = 'cleaned'
    OR (NEW.status = 'preparing' AND OLD.status <> 'preparing')
    OR (NEW.status = 'delivered' AND OLD.status = 'preparing')
BEGIN SELECT RAISE(ABORT, 'not in the life of a drydock'); END;
CREATE TRIGGER IF NOT EXISTS drydocks_cleaning BEFORE UPDATE OF status ON drydocks
WHEN NEW.status IN ('ready', 'delivered')
    AND EXISTS (SELECT 1 FROM drydock_steps WHERE drydock_id = NEW.id AND verb = 'cleanup' AND phase = 'begun')
BEGIN SELECT RAISE(ABORT, 'the drydock is being cleaned up'); END;
