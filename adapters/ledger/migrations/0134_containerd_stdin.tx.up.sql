-- 134: containerd is an engine as well, and approvals and admissions carry the
-- stdin policy. Everything older was Docker with its stdin closed. The three
-- immutable tables are built anew, as in 128.

DROP TABLE IF EXISTS preparations_new;
CREATE TABLE preparations_new (
    id TEXT NOT NULL PRIMARY KEY
        CHECK (length(id) = 31 AND id GLOB 'prep_*' AND substr(id, 6) NOT GLOB '*[^0-9A-HJKMNP-TV-Z]*'),
    run_id TEXT NOT NULL REFERENCES runs (id),
    manifest_sha256 TEXT NOT NULL CHECK (length(manifest_sha256) = 64 AND manifest_sha256 NOT GLOB '*[^0-9a-f]*'),
    manifest BLOB NOT NULL CHECK (length(manifest) > 0),
    command_sha256 TEXT NOT NULL CHECK (length(command_sha256) = 64 AND command_sha256 NOT GLOB '*[^0-9a-f]*'),
    drydock_id TEXT NOT NULL REFERENCES drydocks (id),
    generation INTEGER NOT NULL CHECK (generation >= 1),
    checkpoint_id TEXT NOT NULL REFERENCES checkpoints (id),
    binding_sha256 TEXT NOT NULL CHECK (length(binding_sha256) = 64 AND binding_sha256 NOT GLOB '*[^0-9a-f]*'),
    profile_revision INTEGER NOT NULL,
    permission_revision INTEGER NOT NULL,
    engine TEXT NOT NULL CHECK (engine IN ('docker', 'containerd')),
    image_digest TEXT NOT NULL
        CHECK (length(image_digest) = 71 AND image_digest GLOB 'sha256:*' AND substr(image_digest, 8) NOT GLOB '*[^0-9a-f]*'),
    created_at_us INTEGER NOT NULL,
    FOREIGN KEY (run_id, profile_revision) REFERENCES run_profiles (run_id, revision),
    FOREIGN KEY (run_id, permission_revision) REFERENCES run_permissions (run_id, revision)
) STRICT, WITHOUT ROWID;
INSERT INTO preparations_new (
    id, run_id, manifest_sha256, manifest, command_sha256, drydock_id, generation, checkpoint_id,
    binding_sha256, profile_revision, permission_revision, engine, image_digest, created_at_us)
SELECT
    id, run_id, manifest_sha256, manifest, command_sha256, drydock_id, generation, checkpoint_id,
    binding_sha256, profile_revision, permission_revision, engine, image_digest, created_at_us
FROM preparations;
DROP TABLE preparations;
ALTER TABLE preparations_new RENAME TO preparations;
CREATE INDEX preparations_of_run ON preparations (run_id, created_at_us, id);
CREATE TRIGGER preparations_no_update BEFORE UPDATE ON preparations
BEGIN SELECT RAISE(ABORT, 'preparations is immutable'); END;
CREATE TRIGGER preparations_no_delete BEFORE DELETE ON preparations
BEGIN SELECT RAISE(ABORT, 'preparations is immutable'); END;
CREATE TRIGGER preparations_no_replace BEFORE INSERT ON preparations
WHEN EXISTS (SELECT 1 FROM preparations WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'preparations has that id'); END;

DROP TABLE IF EXISTS approvals_new;
CREATE TABLE approvals_new (
    id TEXT NOT NULL PRIMARY KEY
        CHECK (length(id) = 31 AND id GLOB 'appr_*' AND substr(id, 6) NOT GLOB '*[^0-9A-HJKMNP-TV-Z]*'),
    preparation_id TEXT NOT NULL UNIQUE REFERENCES preparations (id),
    run_id TEXT NOT NULL REFERENCES runs (id),
    command TEXT NOT NULL CHECK (json_valid(command)),
    stdin TEXT NOT NULL CHECK (stdin IN ('closed', 'pipe')),
    created_at_us INTEGER NOT NULL,
    -- At most 24 hours after it was made.
    expires_at_us INTEGER NOT NULL CHECK (expires_at_us - created_at_us BETWEEN 0 AND 86400000000)
) STRICT, WITHOUT ROWID;
INSERT INTO approvals_new (
    id, preparation_id, run_id, command, stdin, created_at_us, expires_at_us)
SELECT
    id, preparation_id, run_id, command, 'closed', created_at_us, expires_at_us
FROM approvals;
DROP TABLE approvals;
ALTER TABLE approvals_new RENAME TO approvals;
CREATE INDEX approvals_of_run ON approvals (run_id, created_at_us, id);
CREATE TRIGGER approvals_no_update BEFORE UPDATE ON approvals
BEGIN SELECT RAISE(ABORT, 'approvals is immutable'); END;
CREATE TRIGGER approvals_no_delete BEFORE DELETE ON approvals
BEGIN SELECT RAISE(ABORT, 'approvals is immutable'); END;
CREATE TRIGGER approvals_no_replace BEFORE INSERT ON approvals
WHEN EXISTS (SELECT 1 FROM approvals WHERE id = NEW.id)
    OR EXISTS (SELECT 1 FROM approvals WHERE preparation_id = NEW.preparation_id)
BEGIN SELECT RAISE(ABORT, 'approvals has that key'); END;

DROP TABLE IF EXISTS admissions_new;
CREATE TABLE admissions_new (
    id TEXT NOT NULL PRIMARY KEY
        CHECK (length(id) = 30 AND id GLOB 'adm_*' AND substr(id, 5) NOT GLOB '*[^0-9A-HJKMNP-TV-Z]*'),
    run_id TEXT NOT NULL REFERENCES runs (id),
    preparation_id TEXT NOT NULL UNIQUE REFERENCES preparations (id),
    approval_id TEXT NOT NULL UNIQUE REFERENCES approvals (id),
    permission TEXT NOT NULL CHECK (permission IN ('workspace_access', 'full_access', 'debug')),
    manifest_sha256 TEXT NOT NULL CHECK (length(manifest_sha256) = 64 AND manifest_sha256 NOT GLOB '*[^0-9a-f]*'),
    command_sha256 TEXT NOT NULL CHECK (length(command_sha256) = 64 AND command_sha256 NOT GLOB '*[^0-9a-f]*'),
    drydock_id TEXT NOT NULL REFERENCES drydocks (id),
    generation INTEGER NOT NULL CHECK (generation >= 1),
    checkpoint_id TEXT NOT NULL REFERENCES checkpoints (id),
    binding_sha256 TEXT NOT NULL CHECK (length(binding_sha256) = 64 AND binding_sha256 NOT GLOB '*[^0-9a-f]*'),
    profile_revision INTEGER NOT NULL,
    permission_revision INTEGER NOT NULL,
    engine TEXT NOT NULL CHECK (engine IN ('docker', 'containerd')),
    image_digest TEXT NOT NULL
        CHECK (length(image_digest) = 71 AND image_digest GLOB 'sha256:*' AND substr(image_digest, 8) NOT GLOB '*[^0-9a-f]*'),
    image_id TEXT NOT NULL
        CHECK (length(image_id) = 71 AND image_id GLOB 'sha256:*' AND substr(image_id, 8) NOT GLOB '*[^0-9a-f]*'),
    stdin TEXT NOT NULL CHECK (stdin IN ('closed', 'pipe')),
    operation_key TEXT NOT NULL
        CHECK (length(operation_key) BETWEEN 1 AND 128 AND operation_key NOT GLOB '*[^A-Za-z0-9._:-]*'),
    created_at_us INTEGER NOT NULL,
    FOREIGN KEY (run_id, profile_revision) REFERENCES run_profiles (run_id, revision),
    FOREIGN KEY (run_id, permission_revision) REFERENCES run_permissions (run_id, revision)
) STRICT, WITHOUT ROWID;
INSERT INTO admissions_new (
    id, run_id, preparation_id, approval_id, permission, manifest_sha256, command_sha256, drydock_id,
    generation, checkpoint_id, binding_sha256, profile_revision, permission_revision, engine, image_digest,
    image_id, stdin, operation_key, created_at_us)
SELECT
    id, run_id, preparation_id, approval_id, permission, manifest_sha256, command_sha256, drydock_id,
    generation, checkpoint_id, binding_sha256, profile_revision, permission_revision, engine, image_digest,
    image_id, 'closed', operation_key, created_at_us
FROM admissions;
DROP TABLE admissions;
ALTER TABLE admissions_new RENAME TO admissions;
CREATE INDEX admissions_of_run ON admissions (run_id, created_at_us, id);
CREATE TRIGGER admissions_no_update BEFORE UPDATE ON admissions
BEGIN SELECT RAISE(ABORT, 'admissions is immutable'); END;
CREATE TRIGGER admissions_no_delete BEFORE DELETE ON admissions
BEGIN SELECT RAISE(ABORT, 'admissions is immutable'); END;
CREATE TRIGGER admissions_no_replace BEFORE INSERT ON admissions
WHEN EXISTS (SELECT 1 FROM admissions WHERE id = NEW.id)
    OR EXISTS (SELECT 1 FROM admissions WHERE preparation_id = NEW.preparation_id)
    OR EXISTS (SELECT 1 FROM admissions WHERE approval_id = NEW.approval_id)
BEGIN SELECT RAISE(ABORT, 'admissions has that key'); END;
