-- table admissions
CREATE TABLE "admissions" (
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

-- index admissions_of_run
CREATE INDEX admissions_of_run ON admissions (run_id, created_at_us, id);

-- trigger admissions_no_delete
CREATE TRIGGER admissions_no_delete BEFORE DELETE ON admissions
WHEN NOT EXISTS (SELECT 1 FROM prunings WHERE run_id = OLD.run_id)
BEGIN SELECT RAISE(ABORT, 'admissions is immutable'); END;

-- trigger admissions_no_replace
CREATE TRIGGER admissions_no_replace BEFORE INSERT ON admissions
WHEN EXISTS (SELECT 1 FROM admissions WHERE id = NEW.id)
    OR EXISTS (SELECT 1 FROM admissions WHERE preparation_id = NEW.preparation_id)
    OR EXISTS (SELECT 1 FROM admissions WHERE approval_id = NEW.approval_id)
BEGIN SELECT RAISE(ABORT, 'admissions has that key'); END;

-- trigger admissions_no_update
CREATE TRIGGER admissions_no_update BEFORE UPDATE ON admissions
BEGIN SELECT RAISE(ABORT, 'admissions is immutable'); END;

-- trigger admissions_opens
CREATE TRIGGER admissions_opens AFTER INSERT ON admissions
BEGIN INSERT INTO open_admissions (admission_id, run_id) VALUES (NEW.id, NEW.run_id); END;

-- trigger admissions_pruned
CREATE TRIGGER admissions_pruned BEFORE INSERT ON admissions
WHEN EXISTS (SELECT 1 FROM prunings WHERE run_id = NEW.run_id)
BEGIN SELECT RAISE(ABORT, 'the records of that run were pruned'); END;

-- table approval_consumptions
CREATE TABLE approval_consumptions (
    approval_id TEXT NOT NULL PRIMARY KEY REFERENCES approvals (id),
    admission_id TEXT NOT NULL UNIQUE REFERENCES admissions (id) DEFERRABLE INITIALLY DEFERRED,
    consumed_at_us INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- trigger approval_consumptions_approved
CREATE TRIGGER approval_consumptions_approved BEFORE INSERT ON approval_consumptions
WHEN NOT EXISTS (SELECT 1 FROM approval_decisions WHERE approval_id = NEW.approval_id AND decision = 'approve')
    OR EXISTS (SELECT 1 FROM approval_revocations WHERE approval_id = NEW.approval_id)
BEGIN SELECT RAISE(ABORT, 'only what is approved and not revoked can be consumed'); END;

-- trigger approval_consumptions_no_delete
CREATE TRIGGER approval_consumptions_no_delete BEFORE DELETE ON approval_consumptions
WHEN NOT EXISTS (SELECT 1 FROM admissions AS a JOIN prunings AS p ON p.run_id = a.run_id WHERE a.id = OLD.admission_id)
BEGIN SELECT RAISE(ABORT, 'approval_consumptions is immutable'); END;

-- trigger approval_consumptions_no_replace
CREATE TRIGGER approval_consumptions_no_replace BEFORE INSERT ON approval_consumptions
WHEN EXISTS (SELECT 1 FROM approval_consumptions WHERE approval_id = NEW.approval_id)
    OR EXISTS (SELECT 1 FROM approval_consumptions WHERE admission_id = NEW.admission_id)
BEGIN SELECT RAISE(ABORT, 'approval_consumptions has that key'); END;

-- trigger approval_consumptions_no_update
CREATE TRIGGER approval_consumptions_no_update BEFORE UPDATE ON approval_consumptions
BEGIN SELECT RAISE(ABORT, 'approval_consumptions is immutable'); END;

-- table approval_decisions
CREATE TABLE approval_decisions (
    approval_id TEXT NOT NULL PRIMARY KEY REFERENCES approvals (id),
    decision TEXT NOT NULL CHECK (decision IN ('approve', 'deny')),
    reviewer TEXT NOT NULL CHECK (length(reviewer) <= 128),
    reason TEXT NOT NULL CHECK (length(reason) <= 1200),
    decided_at_us INTEGER NOT NULL,
    expires_at_us INTEGER NOT NULL CHECK (expires_at_us - decided_at_us <= 86400000000)
) STRICT, WITHOUT ROWID;

-- trigger approval_decisions_no_delete
CREATE TRIGGER approval_decisions_no_delete BEFORE DELETE ON approval_decisions
WHEN NOT EXISTS (SELECT 1 FROM approvals AS a JOIN prunings AS p ON p.run_id = a.run_id WHERE a.id = OLD.approval_id)
BEGIN SELECT RAISE(ABORT, 'approval_decisions is immutable'); END;

-- trigger approval_decisions_no_replace
CREATE TRIGGER approval_decisions_no_replace BEFORE INSERT ON approval_decisions
WHEN EXISTS (SELECT 1 FROM approval_decisions WHERE approval_id = NEW.approval_id)
BEGIN SELECT RAISE(ABORT, 'approval_decisions has that id'); END;

-- trigger approval_decisions_no_update
CREATE TRIGGER approval_decisions_no_update BEFORE UPDATE ON approval_decisions
BEGIN SELECT RAISE(ABORT, 'approval_decisions is immutable'); END;

-- table approval_requests
CREATE TABLE approval_requests (
    approval_id TEXT NOT NULL PRIMARY KEY REFERENCES approvals (id),
    requested_by TEXT NOT NULL CHECK (length(requested_by) <= 128),
    requested_at_us INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- trigger approval_requests_no_delete
CREATE TRIGGER approval_requests_no_delete BEFORE DELETE ON approval_requests
WHEN NOT EXISTS (SELECT 1 FROM approvals AS a JOIN prunings AS p ON p.run_id = a.run_id WHERE a.id = OLD.approval_id)
BEGIN SELECT RAISE(ABORT, 'approval_requests is immutable'); END;

-- trigger approval_requests_no_replace
CREATE TRIGGER approval_requests_no_replace BEFORE INSERT ON approval_requests
WHEN EXISTS (SELECT 1 FROM approval_requests WHERE approval_id = NEW.approval_id)
BEGIN SELECT RAISE(ABORT, 'approval_requests has that id'); END;

-- trigger approval_requests_no_update
CREATE TRIGGER approval_requests_no_update BEFORE UPDATE ON approval_requests
BEGIN SELECT RAISE(ABORT, 'approval_requests is immutable'); END;

-- table approval_revocations
CREATE TABLE approval_revocations (
    approval_id TEXT NOT NULL PRIMARY KEY REFERENCES approvals (id),
    revoked_at_us INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- trigger approval_revocations_no_delete
CREATE TRIGGER approval_revocations_no_delete BEFORE DELETE ON approval_revocations
WHEN NOT EXISTS (SELECT 1 FROM approvals AS a JOIN prunings AS p ON p.run_id = a.run_id WHERE a.id = OLD.approval_id)
BEGIN SELECT RAISE(ABORT, 'approval_revocations is immutable'); END;

-- trigger approval_revocations_no_replace
CREATE TRIGGER approval_revocations_no_replace BEFORE INSERT ON approval_revocations
WHEN EXISTS (SELECT 1 FROM approval_revocations WHERE approval_id = NEW.approval_id)
BEGIN SELECT RAISE(ABORT, 'approval_revocations has that id'); END;

-- trigger approval_revocations_no_update
CREATE TRIGGER approval_revocations_no_update BEFORE UPDATE ON approval_revocations
BEGIN SELECT RAISE(ABORT, 'approval_revocations is immutable'); END;

-- table approvals
CREATE TABLE "approvals" (
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

-- index approvals_of_run
CREATE INDEX approvals_of_run ON approvals (run_id, created_at_us, id);

-- trigger approvals_no_delete
CREATE TRIGGER approvals_no_delete BEFORE DELETE ON approvals
WHEN NOT EXISTS (SELECT 1 FROM prunings WHERE run_id = OLD.run_id)
BEGIN SELECT RAISE(ABORT, 'approvals is immutable'); END;

-- trigger approvals_no_replace
CREATE TRIGGER approvals_no_replace BEFORE INSERT ON approvals
WHEN EXISTS (SELECT 1 FROM approvals WHERE id = NEW.id)
    OR EXISTS (SELECT 1 FROM approvals WHERE preparation_id = NEW.preparation_id)
BEGIN SELECT RAISE(ABORT, 'approvals has that key'); END;

-- trigger approvals_no_update
CREATE TRIGGER approvals_no_update BEFORE UPDATE ON approvals
BEGIN SELECT RAISE(ABORT, 'approvals is immutable'); END;

-- trigger approvals_pruned
CREATE TRIGGER approvals_pruned BEFORE INSERT ON approvals
WHEN EXISTS (SELECT 1 FROM prunings WHERE run_id = NEW.run_id)
BEGIN SELECT RAISE(ABORT, 'the records of that run were pruned'); END;

-- table cancellations
CREATE TABLE cancellations (
    admission_id TEXT NOT NULL PRIMARY KEY REFERENCES admissions (id),
    reason TEXT NOT NULL CHECK (length(reason) <= 1200),
    cancelled_by TEXT NOT NULL CHECK (length(cancelled_by) <= 128),
    at_us INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- trigger cancellations_no_delete
CREATE TRIGGER cancellations_no_delete BEFORE DELETE ON cancellations
WHEN NOT EXISTS (SELECT 1 FROM admissions AS a JOIN prunings AS p ON p.run_id = a.run_id WHERE a.id = OLD.admission_id)
BEGIN SELECT RAISE(ABORT, 'cancellations is immutable'); END;

-- trigger cancellations_no_replace
CREATE TRIGGER cancellations_no_replace BEFORE INSERT ON cancellations
WHEN EXISTS (SELECT 1 FROM cancellations WHERE admission_id = NEW.admission_id)
BEGIN SELECT RAISE(ABORT, 'cancellations has that id'); END;

-- trigger cancellations_no_update
CREATE TRIGGER cancellations_no_update BEFORE UPDATE ON cancellations
BEGIN SELECT RAISE(ABORT, 'cancellations is immutable'); END;

-- table checkpoints
CREATE TABLE checkpoints (
    id TEXT NOT NULL PRIMARY KEY
        CHECK (length(id) = 31 AND id GLOB 'ckpt_*' AND substr(id, 6) NOT GLOB '*[^0-9A-HJKMNP-TV-Z]*'),
    drydock_id TEXT NOT NULL REFERENCES drydocks (id),
    run_id TEXT NOT NULL REFERENCES runs (id),
    parent_id TEXT REFERENCES checkpoints (id),
    generation INTEGER NOT NULL CHECK (generation >= 1),
    origin TEXT NOT NULL CHECK (origin IN ('create', 'operator', 'command', 'recovery', 'rewind')),
    admission_id TEXT REFERENCES admissions (id),
    receipt_id TEXT
        CHECK (length(receipt_id) = 31 AND receipt_id GLOB 'rcpt_*' AND substr(receipt_id, 6) NOT GLOB '*[^0-9A-HJKMNP-TV-Z]*'),
    commit_id TEXT NOT NULL CHECK (length(commit_id) IN (40, 64) AND commit_id NOT GLOB '*[^0-9a-f]*'),
    tree_id TEXT NOT NULL CHECK (length(tree_id) IN (40, 64) AND tree_id NOT GLOB '*[^0-9a-f]*'),
    index_sha256 TEXT NOT NULL
        CHECK (index_sha256 = '' OR (length(index_sha256) = 64 AND index_sha256 NOT GLOB '*[^0-9a-f]*')),
    entries INTEGER NOT NULL CHECK (entries >= 0),
    bytes INTEGER NOT NULL CHECK (bytes >= 0),
    added INTEGER NOT NULL CHECK (added >= 0),
    modified INTEGER NOT NULL CHECK (modified >= 0),
    deleted INTEGER NOT NULL CHECK (deleted >= 0),
    excluded TEXT NOT NULL CHECK (json_valid(excluded)),
    created_at_us INTEGER NOT NULL,
    CHECK (admission_id IS NULL OR origin IN ('command', 'recovery')),
    UNIQUE (drydock_id, generation),
    UNIQUE (admission_id),
    UNIQUE (receipt_id)
) STRICT, WITHOUT ROWID;

-- trigger checkpoints_no_delete
CREATE TRIGGER checkpoints_no_delete BEFORE DELETE ON checkpoints
WHEN NOT EXISTS (SELECT 1 FROM prunings WHERE run_id = OLD.run_id)
BEGIN SELECT RAISE(ABORT, 'checkpoints is immutable'); END;

-- trigger checkpoints_no_replace
CREATE TRIGGER checkpoints_no_replace BEFORE INSERT ON checkpoints
WHEN EXISTS (SELECT 1 FROM checkpoints WHERE id = NEW.id)
    OR EXISTS (SELECT 1 FROM checkpoints WHERE drydock_id = NEW.drydock_id AND generation = NEW.generation)
    OR EXISTS (SELECT 1 FROM checkpoints WHERE admission_id = NEW.admission_id)
    OR EXISTS (SELECT 1 FROM checkpoints WHERE receipt_id = NEW.receipt_id)
BEGIN SELECT RAISE(ABORT, 'checkpoints has that key'); END;

-- trigger checkpoints_no_update
CREATE TRIGGER checkpoints_no_update BEFORE UPDATE ON checkpoints
BEGIN SELECT RAISE(ABORT, 'checkpoints is immutable'); END;

-- table drydock_steps
CREATE TABLE drydock_steps (
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

-- trigger drydock_steps_cleaning
CREATE TRIGGER drydock_steps_cleaning BEFORE INSERT ON drydock_steps
WHEN NEW.verb NOT IN ('cleanup', 'repair', 'reconcile')
    AND EXISTS (SELECT 1 FROM drydock_steps WHERE drydock_id = NEW.drydock_id AND verb = 'cleanup' AND phase = 'begun')
BEGIN SELECT RAISE(ABORT, 'the drydock is being cleaned up'); END;

-- trigger drydock_steps_next
CREATE TRIGGER drydock_steps_next BEFORE INSERT ON drydock_steps
WHEN NEW.sequence <> (SELECT coalesce(max(sequence), 0) + 1 FROM drydock_steps WHERE drydock_id = NEW.drydock_id)
BEGIN SELECT RAISE(ABORT, 'drydock_steps has another next sequence'); END;

-- trigger drydock_steps_no_delete
CREATE TRIGGER drydock_steps_no_delete BEFORE DELETE ON drydock_steps
WHEN NOT EXISTS (SELECT 1 FROM prunings WHERE run_id = OLD.run_id)
BEGIN SELECT RAISE(ABORT, 'drydock_steps is immutable'); END;

-- trigger drydock_steps_no_replace
CREATE TRIGGER drydock_steps_no_replace BEFORE INSERT ON drydock_steps
WHEN EXISTS (SELECT 1 FROM drydock_steps WHERE receipt_id = NEW.receipt_id)
BEGIN SELECT RAISE(ABORT, 'drydock_steps has that id'); END;

-- trigger drydock_steps_no_update
CREATE TRIGGER drydock_steps_no_update BEFORE UPDATE ON drydock_steps
BEGIN SELECT RAISE(ABORT, 'drydock_steps is immutable'); END;

-- table drydocks
CREATE TABLE drydocks (
    id TEXT NOT NULL PRIMARY KEY
        CHECK (length(id) = 30 AND id GLOB 'dry_*' AND substr(id, 5) NOT GLOB '*[^0-9A-HJKMNP-TV-Z]*'),
    run_id TEXT NOT NULL REFERENCES runs (id),
    status TEXT NOT NULL CHECK (status IN ('preparing', 'ready', 'delivered', 'recovery_required', 'cleaned')),
    generation INTEGER NOT NULL CHECK (generation >= 0),
    checkpoint_id TEXT REFERENCES checkpoints (id) DEFERRABLE INITIALLY DEFERRED,
    source TEXT NOT NULL CHECK (json_valid(source)),
    root TEXT NOT NULL CHECK (length(root) <= 4096),
    shadow TEXT NOT NULL CHECK (length(shadow) <= 4096),
    common_dir TEXT NOT NULL CHECK (length(common_dir) <= 4096),
    branch TEXT NOT NULL CHECK (length(branch) <= 1024),
    -- Device and inode numbers are unsigned 64 bit; here is the same bit pattern.
    root_dev INTEGER NOT NULL,
    root_inode INTEGER NOT NULL,
    control_dev INTEGER NOT NULL,
    control_inode INTEGER NOT NULL,
    control_sha256 TEXT NOT NULL
        CHECK (control_sha256 = '' OR (length(control_sha256) = 64 AND control_sha256 NOT GLOB '*[^0-9a-f]*')),
    access TEXT NOT NULL CHECK (access IN ('', 'owner', 'acl')),
    reason TEXT NOT NULL CHECK (length(reason) <= 1200),
    created_at_us INTEGER NOT NULL,
    updated_at_us INTEGER NOT NULL,
    expires_at_us INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- index drydocks_kept
CREATE INDEX drydocks_kept ON drydocks (created_at_us, id) WHERE status <> 'cleaned';

-- index drydocks_of_run
CREATE INDEX drydocks_of_run ON drydocks (run_id, created_at_us, id);

-- index drydocks_root
CREATE UNIQUE INDEX drydocks_root ON drydocks (root) WHERE status <> 'cleaned' AND root <> '';

-- trigger drydocks_cleaning
CREATE TRIGGER drydocks_cleaning BEFORE UPDATE OF status ON drydocks
WHEN NEW.status IN ('ready', 'delivered')
    AND EXISTS (SELECT 1 FROM drydock_steps WHERE drydock_id = NEW.id AND verb = 'cleanup' AND phase = 'begun')
BEGIN SELECT RAISE(ABORT, 'the drydock is being cleaned up'); END;

-- trigger drydocks_generation
CREATE TRIGGER drydocks_generation BEFORE UPDATE ON drydocks
WHEN NEW.generation <> OLD.generation + 1
BEGIN SELECT RAISE(ABORT, 'a change of a drydock adds one to its generation'); END;

-- trigger drydocks_identity
CREATE TRIGGER drydocks_identity BEFORE UPDATE OF id, run_id, created_at_us ON drydocks
BEGIN SELECT RAISE(ABORT, 'the identity of a drydock is immutable'); END;

-- trigger drydocks_life
CREATE TRIGGER drydocks_life BEFORE UPDATE OF status ON drydocks
WHEN OLD.status = 'cleaned'
    OR (NEW.status = 'preparing' AND OLD.status <> 'preparing')
    OR (NEW.status = 'delivered' AND OLD.status = 'preparing')
BEGIN SELECT RAISE(ABORT, 'not in the life of a drydock'); END;

-- trigger drydocks_no_delete
CREATE TRIGGER drydocks_no_delete BEFORE DELETE ON drydocks
WHEN NOT EXISTS (SELECT 1 FROM prunings WHERE run_id = OLD.run_id)
BEGIN SELECT RAISE(ABORT, 'drydocks are never deleted'); END;

-- trigger drydocks_no_replace
CREATE TRIGGER drydocks_no_replace BEFORE INSERT ON drydocks
WHEN EXISTS (SELECT 1 FROM drydocks WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'drydocks has that id'); END;

-- trigger drydocks_pruned
CREATE TRIGGER drydocks_pruned BEFORE INSERT ON drydocks
WHEN EXISTS (SELECT 1 FROM prunings WHERE run_id = NEW.run_id)
BEGIN SELECT RAISE(ABORT, 'the records of that run were pruned'); END;

-- trigger drydocks_source
CREATE TRIGGER drydocks_source BEFORE UPDATE OF source ON drydocks
WHEN NEW.source <> OLD.source AND OLD.status <> 'preparing'
BEGIN SELECT RAISE(ABORT, 'the source of a drydock is immutable'); END;

-- table events
CREATE TABLE events (
    id INTEGER NOT NULL PRIMARY KEY,
    run_id TEXT REFERENCES runs (id),
    kind TEXT NOT NULL CHECK (length(kind) BETWEEN 1 AND 64),
    subject TEXT NOT NULL CHECK (length(subject) <= 64),
    detail TEXT NOT NULL CHECK (json_valid(detail)),
    at_us INTEGER NOT NULL
) STRICT;

-- index events_of_run
CREATE INDEX events_of_run ON events (run_id, id);

-- trigger events_no_delete
CREATE TRIGGER events_no_delete BEFORE DELETE ON events
WHEN NOT EXISTS (SELECT 1 FROM prunings WHERE run_id = OLD.run_id)
BEGIN SELECT RAISE(ABORT, 'events is immutable'); END;

-- trigger events_no_replace
CREATE TRIGGER events_no_replace BEFORE INSERT ON events
WHEN EXISTS (SELECT 1 FROM events WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'events has that id'); END;

-- trigger events_no_update
CREATE TRIGGER events_no_update BEFORE UPDATE ON events
BEGIN SELECT RAISE(ABORT, 'events is immutable'); END;

-- table installation
CREATE TABLE installation (
    singleton INTEGER NOT NULL PRIMARY KEY CHECK (singleton = 1),
    id TEXT NOT NULL
        CHECK (length(id) = 31 AND id GLOB 'inst_*' AND substr(id, 6) NOT GLOB '*[^0-9A-HJKMNP-TV-Z]*')
) STRICT;

-- trigger installation_no_delete
CREATE TRIGGER installation_no_delete BEFORE DELETE ON installation
BEGIN SELECT RAISE(ABORT, 'installation is immutable'); END;

-- trigger installation_no_replace
CREATE TRIGGER installation_no_replace BEFORE INSERT ON installation
WHEN EXISTS (SELECT 1 FROM installation)
BEGIN SELECT RAISE(ABORT, 'installation has its id'); END;

-- trigger installation_no_update
CREATE TRIGGER installation_no_update BEFORE UPDATE ON installation
BEGIN SELECT RAISE(ABORT, 'installation is immutable'); END;

-- table job_owners
CREATE TABLE job_owners (
    id TEXT NOT NULL PRIMARY KEY
        CHECK (length(id) = 30 AND id GLOB 'own_*' AND substr(id, 5) NOT GLOB '*[^0-9A-HJKMNP-TV-Z]*'),
    run_id TEXT NOT NULL REFERENCES runs (id),
    boot_id TEXT NOT NULL CHECK (length(boot_id) BETWEEN 1 AND 128),
    expires_boot_ns INTEGER NOT NULL CHECK (expires_boot_ns >= 0),
    released INTEGER NOT NULL CHECK (released IN (0, 1)),
    started_at_us INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- trigger job_owners_identity
CREATE TRIGGER job_owners_identity BEFORE UPDATE OF id, run_id, boot_id, started_at_us ON job_owners
BEGIN SELECT RAISE(ABORT, 'the identity of a job owner is immutable'); END;

-- trigger job_owners_no_delete
CREATE TRIGGER job_owners_no_delete BEFORE DELETE ON job_owners
WHEN NOT EXISTS (SELECT 1 FROM prunings WHERE run_id = OLD.run_id)
BEGIN SELECT RAISE(ABORT, 'job_owners are never deleted'); END;

-- trigger job_owners_no_replace
CREATE TRIGGER job_owners_no_replace BEFORE INSERT ON job_owners
WHEN EXISTS (SELECT 1 FROM job_owners WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'job_owners has that id'); END;

-- trigger job_owners_pruned
CREATE TRIGGER job_owners_pruned BEFORE INSERT ON job_owners
WHEN EXISTS (SELECT 1 FROM prunings WHERE run_id = NEW.run_id)
BEGIN SELECT RAISE(ABORT, 'the records of that run were pruned'); END;

-- trigger job_owners_released
CREATE TRIGGER job_owners_released BEFORE UPDATE ON job_owners
WHEN OLD.released = 1
BEGIN SELECT RAISE(ABORT, 'a released job owner stays released'); END;

-- table job_transitions
CREATE TABLE job_transitions (
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

-- trigger job_transitions_ended
CREATE TRIGGER job_transitions_ended BEFORE INSERT ON job_transitions
WHEN EXISTS (SELECT 1 FROM job_transitions WHERE job_id = NEW.job_id
    AND state IN ('succeeded', 'failed', 'cancelled', 'timed_out', 'interrupted'))
BEGIN SELECT RAISE(ABORT, 'the job has ended'); END;

-- trigger job_transitions_ends
CREATE TRIGGER job_transitions_ends AFTER INSERT ON job_transitions
WHEN NEW.state IN ('succeeded', 'failed', 'cancelled', 'timed_out', 'interrupted')
BEGIN DELETE FROM open_jobs WHERE job_id = NEW.job_id; END;

-- trigger job_transitions_next
CREATE TRIGGER job_transitions_next BEFORE INSERT ON job_transitions
WHEN NEW.version <> (SELECT coalesce(max(version), 0) + 1 FROM job_transitions WHERE job_id = NEW.job_id)
BEGIN SELECT RAISE(ABORT, 'job_transitions has another next version'); END;

-- trigger job_transitions_no_delete
CREATE TRIGGER job_transitions_no_delete BEFORE DELETE ON job_transitions
WHEN NOT EXISTS (SELECT 1 FROM jobs AS j JOIN prunings AS p ON p.run_id = j.run_id WHERE j.id = OLD.job_id)
BEGIN SELECT RAISE(ABORT, 'job_transitions is immutable'); END;

-- trigger job_transitions_no_update
CREATE TRIGGER job_transitions_no_update BEFORE UPDATE ON job_transitions
BEGIN SELECT RAISE(ABORT, 'job_transitions is immutable'); END;

-- trigger job_transitions_opens
CREATE TRIGGER job_transitions_opens AFTER INSERT ON job_transitions
WHEN NEW.version = 1
BEGIN INSERT INTO open_jobs (job_id, run_id) SELECT id, run_id FROM jobs WHERE id = NEW.job_id; END;

-- table jobs
CREATE TABLE jobs (
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

-- index jobs_of_run
CREATE INDEX jobs_of_run ON jobs (run_id, created_at_us, id);

-- trigger jobs_no_delete
CREATE TRIGGER jobs_no_delete BEFORE DELETE ON jobs
WHEN NOT EXISTS (SELECT 1 FROM prunings WHERE run_id = OLD.run_id)
BEGIN SELECT RAISE(ABORT, 'jobs is immutable'); END;

-- trigger jobs_no_replace
CREATE TRIGGER jobs_no_replace BEFORE INSERT ON jobs
WHEN EXISTS (SELECT 1 FROM jobs WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'jobs has that id'); END;

-- trigger jobs_no_update
CREATE TRIGGER jobs_no_update BEFORE UPDATE ON jobs
BEGIN SELECT RAISE(ABORT, 'jobs is immutable'); END;

-- trigger jobs_pruned
CREATE TRIGGER jobs_pruned BEFORE INSERT ON jobs
WHEN EXISTS (SELECT 1 FROM prunings WHERE run_id = NEW.run_id)
BEGIN SELECT RAISE(ABORT, 'the records of that run were pruned'); END;

-- table leases
CREATE TABLE leases (
    admission_id TEXT NOT NULL REFERENCES admissions (id),
    generation INTEGER NOT NULL CHECK (generation >= 1),
    owner TEXT NOT NULL
        CHECK (length(owner) = 30 AND owner GLOB 'own_*' AND substr(owner, 5) NOT GLOB '*[^0-9A-HJKMNP-TV-Z]*'),
    boot_id TEXT NOT NULL CHECK (length(boot_id) BETWEEN 1 AND 64),
    expires_boot_ns INTEGER NOT NULL CHECK (expires_boot_ns >= 0),
    released INTEGER NOT NULL CHECK (released IN (0, 1)),
    PRIMARY KEY (admission_id, generation)
) STRICT, WITHOUT ROWID;

-- trigger leases_identity
CREATE TRIGGER leases_identity BEFORE UPDATE OF admission_id, generation, owner, boot_id ON leases
BEGIN SELECT RAISE(ABORT, 'the identity of a lease is immutable'); END;

-- trigger leases_newest
CREATE TRIGGER leases_newest BEFORE UPDATE ON leases
WHEN OLD.released = 1
    OR OLD.generation <> (SELECT max(generation) FROM leases WHERE admission_id = OLD.admission_id)
BEGIN SELECT RAISE(ABORT, 'only the newest lease changes, until it is released'); END;

-- trigger leases_next
CREATE TRIGGER leases_next BEFORE INSERT ON leases
WHEN NEW.generation <> (SELECT coalesce(max(generation), 0) + 1 FROM leases WHERE admission_id = NEW.admission_id)
BEGIN SELECT RAISE(ABORT, 'leases has another next generation'); END;

-- trigger leases_no_delete
CREATE TRIGGER leases_no_delete BEFORE DELETE ON leases
WHEN NOT EXISTS (SELECT 1 FROM admissions AS a JOIN prunings AS p ON p.run_id = a.run_id WHERE a.id = OLD.admission_id)
BEGIN SELECT RAISE(ABORT, 'leases are never deleted'); END;

-- table lifecycle_log
CREATE TABLE "lifecycle_log" (
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

-- index lifecycle_log_finalized
CREATE INDEX lifecycle_log_finalized ON lifecycle_log (admission_id) WHERE action = 'finalize';

-- trigger lifecycle_log_closes
CREATE TRIGGER lifecycle_log_closes AFTER INSERT ON lifecycle_log
WHEN NEW.action = 'finalize'
BEGIN DELETE FROM open_admissions WHERE admission_id = NEW.admission_id; END;

-- trigger lifecycle_log_fenced
CREATE TRIGGER lifecycle_log_fenced BEFORE INSERT ON lifecycle_log
WHEN NOT EXISTS (
    SELECT 1 FROM leases
    WHERE admission_id = NEW.admission_id AND generation = NEW.generation AND owner = NEW.owner AND released = 0
        AND generation = (SELECT max(generation) FROM leases WHERE admission_id = NEW.admission_id))
BEGIN SELECT RAISE(ABORT, 'only the owner of the newest lease writes the log'); END;

-- trigger lifecycle_log_next
CREATE TRIGGER lifecycle_log_next BEFORE INSERT ON lifecycle_log
WHEN NEW.sequence <> (SELECT coalesce(max(sequence), 0) + 1 FROM lifecycle_log WHERE admission_id = NEW.admission_id)
BEGIN SELECT RAISE(ABORT, 'lifecycle_log has another next sequence'); END;

-- trigger lifecycle_log_no_delete
CREATE TRIGGER lifecycle_log_no_delete BEFORE DELETE ON lifecycle_log
WHEN NOT EXISTS (SELECT 1 FROM admissions AS a JOIN prunings AS p ON p.run_id = a.run_id WHERE a.id = OLD.admission_id)
BEGIN SELECT RAISE(ABORT, 'lifecycle_log is immutable'); END;

-- trigger lifecycle_log_no_update
CREATE TRIGGER lifecycle_log_no_update BEFORE UPDATE ON lifecycle_log
BEGIN SELECT RAISE(ABORT, 'lifecycle_log is immutable'); END;

-- table log_receipts
CREATE TABLE log_receipts (
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

-- trigger log_receipts_no_delete
CREATE TRIGGER log_receipts_no_delete BEFORE DELETE ON log_receipts
WHEN NOT EXISTS (SELECT 1 FROM admissions AS a JOIN prunings AS p ON p.run_id = a.run_id WHERE a.id = OLD.admission_id)
BEGIN SELECT RAISE(ABORT, 'log_receipts is immutable'); END;

-- trigger log_receipts_no_replace
CREATE TRIGGER log_receipts_no_replace BEFORE INSERT ON log_receipts
WHEN EXISTS (SELECT 1 FROM log_receipts WHERE admission_id = NEW.admission_id AND position = NEW.position)
    OR EXISTS (SELECT 1 FROM log_receipts WHERE admission_id = NEW.admission_id AND stream = NEW.stream)
BEGIN SELECT RAISE(ABORT, 'log_receipts has that key'); END;

-- trigger log_receipts_no_update
CREATE TRIGGER log_receipts_no_update BEFORE UPDATE ON log_receipts
BEGIN SELECT RAISE(ABORT, 'log_receipts is immutable'); END;

-- table open_admissions
CREATE TABLE open_admissions (
    admission_id TEXT NOT NULL PRIMARY KEY REFERENCES admissions (id),
    run_id TEXT NOT NULL REFERENCES runs (id)
) STRICT, WITHOUT ROWID;

-- trigger open_admissions_no_delete
CREATE TRIGGER open_admissions_no_delete BEFORE DELETE ON open_admissions
WHEN NOT EXISTS (SELECT 1 FROM lifecycle_log WHERE admission_id = OLD.admission_id AND action = 'finalize')
BEGIN SELECT RAISE(ABORT, 'open_admissions follows from lifecycle_log'); END;

-- trigger open_admissions_no_replace
CREATE TRIGGER open_admissions_no_replace BEFORE INSERT ON open_admissions
WHEN EXISTS (SELECT 1 FROM open_admissions WHERE admission_id = NEW.admission_id)
BEGIN SELECT RAISE(ABORT, 'open_admissions has that id'); END;

-- trigger open_admissions_no_update
CREATE TRIGGER open_admissions_no_update BEFORE UPDATE ON open_admissions
BEGIN SELECT RAISE(ABORT, 'open_admissions follows from lifecycle_log'); END;

-- table open_jobs
CREATE TABLE open_jobs (
    job_id TEXT NOT NULL PRIMARY KEY REFERENCES jobs (id),
    run_id TEXT NOT NULL REFERENCES runs (id)
) STRICT, WITHOUT ROWID;

-- trigger open_jobs_no_delete
CREATE TRIGGER open_jobs_no_delete BEFORE DELETE ON open_jobs
WHEN NOT EXISTS (SELECT 1 FROM job_transitions WHERE job_id = OLD.job_id
    AND state IN ('succeeded', 'failed', 'cancelled', 'timed_out', 'interrupted'))
BEGIN SELECT RAISE(ABORT, 'open_jobs follows from job_transitions'); END;

-- trigger open_jobs_no_replace
CREATE TRIGGER open_jobs_no_replace BEFORE INSERT ON open_jobs
WHEN EXISTS (SELECT 1 FROM open_jobs WHERE job_id = NEW.job_id)
BEGIN SELECT RAISE(ABORT, 'open_jobs has that id'); END;

-- trigger open_jobs_no_update
CREATE TRIGGER open_jobs_no_update BEFORE UPDATE ON open_jobs
BEGIN SELECT RAISE(ABORT, 'open_jobs follows from job_transitions'); END;

-- table operations
CREATE TABLE operations (
    run_id TEXT NOT NULL CHECK (length(run_id) IN (0, 30)),
    verb TEXT NOT NULL CHECK (length(verb) BETWEEN 1 AND 64),
    key TEXT NOT NULL CHECK (length(key) BETWEEN 1 AND 128 AND key NOT GLOB '*[^A-Za-z0-9._:-]*'),
    intent TEXT NOT NULL CHECK (length(intent) = 64 AND intent NOT GLOB '*[^0-9a-f]*'),
    answer BLOB,
    at_us INTEGER NOT NULL,
    PRIMARY KEY (run_id, verb, key)
) STRICT, WITHOUT ROWID;

-- trigger operations_answer_once
CREATE TRIGGER operations_answer_once BEFORE UPDATE ON operations
WHEN OLD.answer IS NOT NULL OR NEW.answer IS NULL OR NEW.run_id <> OLD.run_id OR NEW.verb <> OLD.verb
    OR NEW.key <> OLD.key OR NEW.intent <> OLD.intent OR NEW.at_us <> OLD.at_us
BEGIN SELECT RAISE(ABORT, 'an operation is immutable but for its one answer'); END;

-- trigger operations_no_delete
CREATE TRIGGER operations_no_delete BEFORE DELETE ON operations
WHEN NOT EXISTS (SELECT 1 FROM prunings WHERE run_id = OLD.run_id)
BEGIN SELECT RAISE(ABORT, 'operations are never deleted'); END;

-- trigger operations_no_replace
CREATE TRIGGER operations_no_replace BEFORE INSERT ON operations
WHEN EXISTS (SELECT 1 FROM operations WHERE run_id = NEW.run_id AND verb = NEW.verb AND key = NEW.key)
BEGIN SELECT RAISE(ABORT, 'operations has that key'); END;

-- trigger operations_pruned
CREATE TRIGGER operations_pruned BEFORE INSERT ON operations
WHEN EXISTS (SELECT 1 FROM prunings WHERE run_id = NEW.run_id)
BEGIN SELECT RAISE(ABORT, 'the records of that run were pruned'); END;

-- table preparations
CREATE TABLE "preparations" (
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

-- index preparations_of_run
CREATE INDEX preparations_of_run ON preparations (run_id, created_at_us, id);

-- trigger preparations_no_delete
CREATE TRIGGER preparations_no_delete BEFORE DELETE ON preparations
WHEN NOT EXISTS (SELECT 1 FROM prunings WHERE run_id = OLD.run_id)
BEGIN SELECT RAISE(ABORT, 'preparations is immutable'); END;

-- trigger preparations_no_replace
CREATE TRIGGER preparations_no_replace BEFORE INSERT ON preparations
WHEN EXISTS (SELECT 1 FROM preparations WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'preparations has that id'); END;

-- trigger preparations_no_update
CREATE TRIGGER preparations_no_update BEFORE UPDATE ON preparations
BEGIN SELECT RAISE(ABORT, 'preparations is immutable'); END;

-- trigger preparations_pruned
CREATE TRIGGER preparations_pruned BEFORE INSERT ON preparations
WHEN EXISTS (SELECT 1 FROM prunings WHERE run_id = NEW.run_id)
BEGIN SELECT RAISE(ABORT, 'the records of that run were pruned'); END;

-- table prunings
CREATE TABLE prunings (
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

-- trigger prunings_no_delete
CREATE TRIGGER prunings_no_delete BEFORE DELETE ON prunings
BEGIN SELECT RAISE(ABORT, 'prunings is immutable'); END;

-- trigger prunings_no_replace
CREATE TRIGGER prunings_no_replace BEFORE INSERT ON prunings
WHEN EXISTS (SELECT 1 FROM prunings WHERE run_id = NEW.run_id)
BEGIN SELECT RAISE(ABORT, 'prunings has that id'); END;

-- trigger prunings_no_update
CREATE TRIGGER prunings_no_update BEFORE UPDATE ON prunings
BEGIN SELECT RAISE(ABORT, 'prunings is immutable'); END;

-- trigger prunings_over
CREATE TRIGGER prunings_over BEFORE INSERT ON prunings
WHEN NOT EXISTS (SELECT 1 FROM runs WHERE id = NEW.run_id AND status = 'closed')
    OR EXISTS (SELECT 1 FROM open_admissions WHERE run_id = NEW.run_id)
    OR EXISTS (SELECT 1 FROM open_jobs WHERE run_id = NEW.run_id)
    OR EXISTS (SELECT 1 FROM drydocks WHERE run_id = NEW.run_id AND status <> 'cleaned')
BEGIN SELECT RAISE(ABORT, 'only the records of a closed run without a command, a job or a drydock can go'); END;

-- table receipts
CREATE TABLE receipts (
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

-- trigger receipts_no_delete
CREATE TRIGGER receipts_no_delete BEFORE DELETE ON receipts
WHEN NOT EXISTS (SELECT 1 FROM admissions AS a JOIN prunings AS p ON p.run_id = a.run_id WHERE a.id = OLD.admission_id)
BEGIN SELECT RAISE(ABORT, 'receipts is immutable'); END;

-- trigger receipts_no_replace
CREATE TRIGGER receipts_no_replace BEFORE INSERT ON receipts
WHEN EXISTS (SELECT 1 FROM receipts WHERE admission_id = NEW.admission_id)
BEGIN SELECT RAISE(ABORT, 'receipts has that id'); END;

-- trigger receipts_no_update
CREATE TRIGGER receipts_no_update BEFORE UPDATE ON receipts
BEGIN SELECT RAISE(ABORT, 'receipts is immutable'); END;

-- table run_permissions
CREATE TABLE run_permissions (
    run_id TEXT NOT NULL REFERENCES runs (id),
    revision INTEGER NOT NULL CHECK (revision >= 1),
    permission TEXT NOT NULL
        CHECK (permission IN ('read_only', 'approval', 'workspace_access', 'full_access', 'debug')),
    at_us INTEGER NOT NULL,
    PRIMARY KEY (run_id, revision)
) STRICT, WITHOUT ROWID;

-- trigger run_permissions_next
CREATE TRIGGER run_permissions_next BEFORE INSERT ON run_permissions
WHEN NEW.revision <> (SELECT coalesce(max(revision), 0) + 1 FROM run_permissions WHERE run_id = NEW.run_id)
BEGIN SELECT RAISE(ABORT, 'run_permissions has another next revision'); END;

-- trigger run_permissions_no_delete
CREATE TRIGGER run_permissions_no_delete BEFORE DELETE ON run_permissions
BEGIN SELECT RAISE(ABORT, 'run_permissions is immutable'); END;

-- trigger run_permissions_no_update
CREATE TRIGGER run_permissions_no_update BEFORE UPDATE ON run_permissions
BEGIN SELECT RAISE(ABORT, 'run_permissions is immutable'); END;

-- table run_profiles
CREATE TABLE run_profiles (
    run_id TEXT NOT NULL REFERENCES runs (id),
    revision INTEGER NOT NULL CHECK (revision >= 1),
    profile TEXT NOT NULL CHECK (profile IN ('none', 'docker', 'local')),
    at_us INTEGER NOT NULL,
    PRIMARY KEY (run_id, revision)
) STRICT, WITHOUT ROWID;

-- trigger run_profiles_next
CREATE TRIGGER run_profiles_next BEFORE INSERT ON run_profiles
WHEN NEW.revision <> (SELECT coalesce(max(revision), 0) + 1 FROM run_profiles WHERE run_id = NEW.run_id)
BEGIN SELECT RAISE(ABORT, 'run_profiles has another next revision'); END;

-- trigger run_profiles_no_delete
CREATE TRIGGER run_profiles_no_delete BEFORE DELETE ON run_profiles
BEGIN SELECT RAISE(ABORT, 'run_profiles is immutable'); END;

-- trigger run_profiles_no_update
CREATE TRIGGER run_profiles_no_update BEFORE UPDATE ON run_profiles
BEGIN SELECT RAISE(ABORT, 'run_profiles is immutable'); END;

-- table runs
CREATE TABLE runs (
    id TEXT NOT NULL PRIMARY KEY
        CHECK (length(id) = 30 AND id GLOB 'run_*' AND substr(id, 5) NOT GLOB '*[^0-9A-HJKMNP-TV-Z]*'),
    title TEXT NOT NULL CHECK (length(title) BETWEEN 1 AND 200),
    workspace TEXT NOT NULL CHECK (length(workspace) BETWEEN 1 AND 4096),
    kind TEXT NOT NULL CHECK (kind = 'code'),
    status TEXT NOT NULL CHECK (status IN ('active', 'paused', 'closed')),
    created_at_us INTEGER NOT NULL,
    updated_at_us INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- index runs_by_age
CREATE INDEX runs_by_age ON runs (created_at_us, id);

-- trigger runs_closed
CREATE TRIGGER runs_closed BEFORE UPDATE OF status ON runs
WHEN OLD.status = 'closed' AND NEW.status <> 'closed'
BEGIN SELECT RAISE(ABORT, 'a closed run stays closed'); END;

-- trigger runs_identity
CREATE TRIGGER runs_identity BEFORE UPDATE OF id, title, workspace, kind, created_at_us ON runs
BEGIN SELECT RAISE(ABORT, 'the identity of a run is immutable'); END;

-- trigger runs_no_delete
CREATE TRIGGER runs_no_delete BEFORE DELETE ON runs
BEGIN SELECT RAISE(ABORT, 'runs are never deleted'); END;

-- trigger runs_no_replace
CREATE TRIGGER runs_no_replace BEFORE INSERT ON runs
WHEN EXISTS (SELECT 1 FROM runs WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'runs has that id'); END;

