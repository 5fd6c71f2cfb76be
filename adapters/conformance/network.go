package conformance

import (
	"slices"
	"strings"
)

func networkChecks() []Check {
	return topic("network",
		Check{Name: "there is lo alone, without a route", Holds: "contract: network", Kernel: true, run: loopbackAlone},
		Check{Name: "the host's name and /etc/hosts are fixed", Holds: "contract: hostname", Kernel: true, run: fixedNames},
	)
}

func loopbackAlone(c *C) {
	_, p := c.look()
	if !slices.Equal(p.Interfaces, []string{"lo"}) || len(p.Routes) > 0 {
		c.Errorf("interfaces %v, routes %v", p.Interfaces, p.Routes)
	}
	for _, a := range p.Addresses6 {
		if !strings.HasPrefix(a, "00000000000000000000000000000001 ") {
			c.Errorf("the address %s", a)
		}
	}
	c.denied("connecting by", p.Connects, "ENETUNREACH", "EADDRNOTAVAIL", "EAFNOSUPPORT")
	c.measured("network.interfaces", "network.routes", "network.ipv6")
}

func fixedNames(c *C) {
	_, p := c.look()
	if p.Hostname != "standard-code" {
		c.Errorf("the host's name is %q", p.Hostname)
	}
	for l := range strings.Lines(p.Hosts) {
		for i, w := range strings.Fields(l) {
			local := w == "localhost" || strings.HasPrefix(w, "ip6-") || w == "standard-code"
			address := slices.Contains([]string{"127.0.0.1", "::1", "fe00::0", "fe00::", "ff00::0", "ff00::", "ff02::1", "ff02::2"}, w)
			if (i == 0 && !address) || (i > 0 && !local) {
				c.Errorf("/etc/hosts says %q", l)
			}
		}
	}
	c.measured("hostname")
}
