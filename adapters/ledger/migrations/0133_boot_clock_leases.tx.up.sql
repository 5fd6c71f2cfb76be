-- 133: leases by the boot clock, which nobody can set. Old leases keep owner
-- and generation, so that fencing goes on from there, and are never live again:
-- no machine has their boot id. A generation is one row; only its expiry moves
-- and only its release is set.

-- So that this body can run again.
CREATE TABLE IF NOT EXISTS admission_leases (
    admission_id TEXT, generation INTEGER, owner TEXT, expires_at_us INTEGER, released INTEGER
) STRICT;

CREATE TABLE IF NOT EXISTS leases (
    admission_id TEXT NOT NULL REFERENCES admissions (id),
    generation INTEGER NOT NULL CHECK (generation >= 1),
    owner TEXT NOT NULL
        CHECK (length(owner) = 30 AND owner GLOB 'own_*' AND substr(owner, 5) NOT GLOB '*[^0-9A-HJKMNP-TV-Z]*'),
    boot_id TEXT NOT NULL CHECK (length(boot_id) BETWEEN 1 AND 64),
    expires_boot_ns INTEGER NOT NULL CHECK (expires_boot_ns >= 0),
    released INTEGER NOT NULL CHECK (released IN (0, 1)),
    PRIMARY KEY (admission_id, generation)
) STRICT, WITHOUT ROWID;
INSERT INTO leases (admission_id, generation, owner, boot_id, expires_boot_ns, released)
SELECT admission_id, generation, owner, 'before-schema-133', 0, released FROM admission_leases AS old
WHERE NOT EXISTS (SELECT 1 FROM leases WHERE admission_id = old.admission_id AND generation = old.generation);
DROP TABLE admission_leases;

CREATE TRIGGER IF NOT EXISTS leases_identity BEFORE UPDATE OF admission_id, generation, owner, boot_id ON leases
BEGIN SELECT RAISE(ABORT, 'the identity of a lease is immutable'); END;
CREATE TRIGGER IF NOT EXISTS leases_newest BEFORE UPDATE ON leases
WHEN OLD.released = 1
    OR OLD.generation <> (SELECT max(generation) FROM leases WHERE admission_id = OLD.admission_id)
BEGIN SELECT RAISE(ABORT, 'only the newest lease changes, until it is released'); END;
CREATE TRIGGER IF NOT EXISTS leases_no_delete BEFORE DELETE ON leases
BEGIN SELECT RAISE(ABORT, 'leases are never deleted'); END;
CREATE TRIGGER IF NOT EXISTS leases_next BEFORE INSERT ON leases
WHEN NEW.generation <> (SELECT coalesce(max(generation), 0) + 1 FROM leases WHERE admission_id = NEW.admission_id)
BEGIN SELECT RAISE(ABORT, 'leases has another next generation'); END;

-- Fencing, restated where no code can forget it.
CREATE TRIGGER IF NOT EXISTS lifecycle_log_fenced BEFORE INSERT ON lifecycle_log
WHEN NOT EXISTS (
    SELECT 1 FROM leases
    WHERE admission_id = NEW.admission_id AND generation = NEW.generation AND owner = NEW.owner AND released = 0
        AND generation = (SELECT max(generation) FROM leases WHERE admission_id = NEW.admission_id))
BEGIN SELECT RAISE(ABORT, 'only the owner of the newest lease writes the log'); END;
