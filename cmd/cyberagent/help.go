package main

import (
	"strings"

	"github.com/urfave/cli/v3"
)

// examples are what people type, by verb. Every verb has one: a test says so.
var examples = map[string]string{
	"run create":                  `cyberagent run create "fix the parser" --workspace ~/src/parser`,
	"run list":                    `cyberagent run list --limit 10`,
	"run show":                    `cyberagent run show RUN`,
	"run events":                  `cyberagent --output json run events RUN`,
	"run pause":                   `cyberagent run pause RUN`,
	"run resume":                  `cyberagent run resume RUN`,
	"run close":                   `cyberagent run close RUN`,
	"run profile":                 `cyberagent run profile RUN docker`,
	"run permission":              `cyberagent run permission RUN workspace_access`,
	"run sandbox request":         `cyberagent run sandbox request PREPARATION --by agent-7`,
	"run sandbox review":          `cyberagent run sandbox review PREPARATION --decision approve --operation-key review-1`,
	"run sandbox revoke":          `cyberagent run sandbox revoke PREPARATION`,
	"run sandbox list":            `cyberagent run sandbox list --pending --watch`,
	"run sandbox show":            `cyberagent run sandbox show PREPARATION`,
	"run standard-code readiness": "cyberagent run standard-code readiness RUN --generation 1 --checkpoint CHECKPOINT \\\n    --toolchain go --arg test --arg ./... --purpose \"offline tests\" \\\n    " + gatesTyped,
	"run standard-code prepare":   "cyberagent run standard-code prepare RUN --generation 1 --checkpoint CHECKPOINT \\\n    --toolchain go --arg test --arg ./... --purpose \"offline tests\" \\\n    --operation-key prepare-1 " + gatesTyped,
	"run standard-code execute":   "cyberagent run standard-code execute RUN --generation 1 --checkpoint CHECKPOINT \\\n    --toolchain go --arg test --arg ./... --purpose \"offline tests\" \\\n    --preparation PREPARATION --approval APPROVAL --operation-key execute-1 \\\n    " + gatesTyped,
	"run standard-code status":    `cyberagent run standard-code status RUN`,
	"run standard-code cancel":    `cyberagent run standard-code cancel --admission ADMISSION --reason "takes too long"`,
	"run standard-code recover":   `cyberagent run standard-code recover --all --dry-run`,
	"command-runtime":             "cyberagent command-runtime RUN < requests.jsonl \\\n    " + gatesTyped,
	"drydock create":              "cyberagent drydock create RUN                  # shows the source and a trust digest\n  cyberagent drydock create RUN --trust DIGEST",
	"drydock status":              `cyberagent drydock status RUN`,
	"drydock use":                 `D=$(cyberagent drydock use RUN) && cd "$D"`,
	"drydock checkpoint":          `cyberagent drydock checkpoint RUN`,
	"drydock log":                 `cyberagent drydock log RUN`,
	"drydock diff":                `cyberagent drydock diff RUN --base`,
	"drydock rewind":              "cyberagent drydock rewind RUN --checkpoint CHECKPOINT   # shows what would change and a digest\n  cyberagent drydock rewind RUN --checkpoint CHECKPOINT --confirm DIGEST",
	"drydock undo":                "cyberagent drydock undo RUN\n  cyberagent drydock undo RUN --confirm DIGEST",
	"drydock fork":                `cyberagent drydock fork RUN --checkpoint CHECKPOINT --title "another way"`,
	"drydock deliver":             "cyberagent drydock deliver RUN --out fix.patch\n  git -C SOURCE apply fix.patch",
	"drydock repair":              "cyberagent drydock repair RUN " + gatesTyped,
	"drydock cleanup":             "cyberagent drydock cleanup RUN\n  cyberagent drydock cleanup RUN --confirm DIGEST",
	"ledger prune":                "cyberagent ledger prune --older-than 90d   # shows what would go and a digest\n  cyberagent ledger prune --older-than 90d --confirm DIGEST",
	"drydock gc":                  "cyberagent drydock gc\n  cyberagent drydock gc --confirm DIGEST",
	"drydock reconcile":           `cyberagent drydock reconcile`,
	"fixture build":               "cyberagent fixture build\n  cyberagent fixture build --project ~/src/parser",
	"engine list":                 `cyberagent --engine auto engine list`,
	"fixture inspect":             `cyberagent fixture inspect`,
	"fixture list":                `cyberagent fixture list`,
	"fixture remove":              "cyberagent fixture remove IMAGE                # what would go, and a digest\n  cyberagent fixture remove IMAGE --confirm DIGEST",
	"engine check":                `cyberagent engine check`,
	"selftest crash":              `cyberagent selftest crash --repeat 2`,
	"selftest soak":               `cyberagent selftest soak --kills 50`,
	"selftest report":             "cyberagent --output json selftest crash > crash.json\n  cyberagent --output json selftest soak > soak.json\n  cyberagent selftest report crash.json soak.json > selftest.md",
	"config show":                 `cyberagent config show`,
	"config path":                 `cyberagent config path`,
	"doctor":                      `cyberagent doctor`,
	"version":                     `cyberagent --output json version`,
}

const gatesTyped = "--enable-permission-control \\\n    --enable-workspace-sandbox --enable-docker-execution"

// teach gives every verb its example and the exit statuses, below what its own
// description says.
func teach(c *cli.Command, path string) {
	for _, sub := range c.Commands {
		teach(sub, strings.TrimSpace(path+" "+sub.Name))
	}
	if len(c.Commands) > 0 || path == "" {
		return
	}
	says, status, own := strings.Cut(c.Description, "EXIT STATUS")
	if own {
		status = "EXIT STATUS" + status
	} else {
		status = exitStatus
	}
	says = strings.TrimSpace(says)
	if e := examples[path]; e != "" {
		says = paragraph(says, "EXAMPLE\n  "+e)
	}
	c.Description = paragraph(says, status)
}

func paragraph(above, below string) string {
	if above == "" {
		return below
	}
	return above + "\n\n" + below
}
