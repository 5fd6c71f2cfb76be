// Command standard-code-runner is PID 1 of the fixed container
// (standard-code-docker-runner.v2). An engine starts it with the protocol's name
// and one canonical runnerproto.Binding; it
//
//   - makes itself unreachable for the command, which has the same uid,
//   - measures the isolation that is in effect and starts nothing unless every
//     fact is the contract's,
//   - runs the one tool of the binding's toolchain, without a shell, and watches
//     what the command does to the workspace and to the host's free space,
//   - ends it at the time limit, at a quota, or when TERM comes, and then
//     everything that it left behind,
//   - writes the command's output as frames to stdout, and one line, the report,
//     to stderr.
//
// Exit status 0 means that a report was written; the report alone says what
// happened. Without a report nothing is known and the host must take the run for
// failed: a crash of the runner can never look like success.
//
// The packages below internal are its parts: mountinfo and cgroup read the
// kernel's text, measure makes facts of it, tree counts and repairs the
// workspace, stream carries the output, supervise runs the command.
package main
