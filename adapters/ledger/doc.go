// Package ledger is the durable record on SQLite (architecture section 5): bun
// over modernc.org/sqlite, one file in WAL mode, no cgo.
//
// Invariants:
//
//   - One writer: every writing transaction is BEGIN IMMEDIATE on the one write
//     connection, so a read followed by a write can never fail half way. Reads
//     use a handle that cannot write.
//   - Durable when Write returns: synchronous FULL.
//   - Busy is waited for, not shown: the whole transaction is tried again for
//     Config.BusyWait, 30 s by default, before ledger_busy.
//   - On a full disk nothing begins, and what has begun can be ended: some room
//     is kept for that (reserve.go).
//   - Immutable tables refuse UPDATE, DELETE and REPLACE by trigger; CHECKs
//     restate ids, digests, closed words and domain/limits.
//   - Times are unix microseconds in integer columns named …_us, durations of the
//     boot clock nanoseconds in columns named …_boot_ns. A zero time is NULL.
//   - The schema is migrated by Open, forward only. A newer one is refused and
//     left as it is.
//
// Where things are: open.go the life of a handle; place.go and filesystem*.go
// what a ledger may lie on; migrate.go and migrations/ the schema;
// transact.go the retry; errors.go the one translation of SQLite's errors; one
// file for each of ports.Records' interfaces.
package ledger
