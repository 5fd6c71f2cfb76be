package config

// Value is one key as `config show` prints it.
type Value struct {
	Key         string `json:"key"`
	Value       string `json:"value"`
	Origin      Origin `json:"origin"`
	Environment string `json:"environment"`
	Help        string `json:"help"`
}

// Values returns every key with its value and where it came from.
func (c Config) Values() []Value {
	out := make([]Value, 0, len(keys()))
	for _, k := range keys() {
		out = append(out, Value{k.name, k.get(c), c.Origins[k.name], k.env[len(k.env)-1], k.help})
	}
	return append(out, c.projectValues()...)
}
