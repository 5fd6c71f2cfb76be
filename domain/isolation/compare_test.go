package isolation_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"cyberagent/domain/isolation"
)

// propertyNames are the names that results and errors show, by field, written
// out by hand.
var propertyNames = map[string]string{
	"Name": "name", "Labels": "labels", "ImageID": "image_id", "Hostname": "hostname",
	"Entrypoint": "entrypoint", "Args": "args", "User": "user", "Groups": "groups", "WorkingDir": "working_dir", "Env": "env",
	"ReadOnlyRoot": "read_only_root", "Privileged": "privileged", "NoNewPrivileges": "no_new_privileges",
	"Capabilities": "capabilities", "SeccompSHA256": "seccomp_sha256",
	"NetworkMode": "network_mode", "PIDMode": "pid_mode", "IPCMode": "ipc_mode", "UTSMode": "uts_mode", "CgroupMode": "cgroup_mode",
	"Mounts": "mounts", "Tmpfs": "tmpfs", "Rlimits": "rlimits", "MaskedPaths": "masked_paths", "ReadonlyPaths": "readonly_paths",
	"MemoryBytes": "memory_bytes", "MemorySwapBytes": "memory_swap_bytes", "Pids": "pids", "NanoCPUs": "nano_cpus", "OOMKill": "oom_kill",
	"Stdin": "stdin", "TTY": "tty", "LogDriver": "log_driver", "Extra": "extra", "Warnings": "warnings",
}

// sabotages returns ways to change a value: every one that its type has.
func sabotages(v reflect.Value) []func(reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		return []func(reflect.Value){
			func(v reflect.Value) { v.SetString(v.String() + "x") },
			func(v reflect.Value) { v.SetString("") },
			func(v reflect.Value) { v.SetString(strings.ToUpper(v.String()) + "\xff") },
		}
	case reflect.Bool:
		return []func(reflect.Value){func(v reflect.Value) { v.SetBool(!v.Bool()) }}
	case reflect.Int, reflect.Int64:
		return []func(reflect.Value){
			func(v reflect.Value) { v.SetInt(v.Int() + 1) },
			func(v reflect.Value) { v.SetInt(-1) },
		}
	case reflect.Uint32:
		return []func(reflect.Value){func(v reflect.Value) { v.SetUint(v.Uint() + 1) }}
	case reflect.Map:
		return []func(reflect.Value){
			func(v reflect.Value) { v.SetMapIndex(reflect.ValueOf("additional"), reflect.ValueOf("x")) },
			func(v reflect.Value) { v.SetMapIndex(v.MapKeys()[0], reflect.ValueOf("other")) },
			func(v reflect.Value) { v.SetMapIndex(v.MapKeys()[0], reflect.Value{}) },
		}
	case reflect.Slice:
		ways := []func(reflect.Value){
			func(v reflect.Value) { v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem()))) },
		}
		for i := range v.Len() {
			ways = append(ways,
				func(v reflect.Value) { v.Set(reflect.AppendSlice(v.Slice(0, i), v.Slice(i+1, v.Len()))) }, // one less
				func(v reflect.Value) { v.Set(reflect.Append(v, v.Index(i))) })                             // one twice
			for _, way := range sabotages(v.Index(i)) {
				ways = append(ways, func(v reflect.Value) { way(v.Index(i)) })
			}
		}
		return ways
	case reflect.Struct:
		var ways []func(reflect.Value)
		for i := range v.NumField() {
			for _, way := range sabotages(v.Field(i)) {
				ways = append(ways, func(v reflect.Value) { way(v.Field(i)) })
			}
		}
		return ways
	}
	panic("no sabotage for " + v.Kind().String())
}

func TestCompareFindsEverySabotageAndNamesIt(t *testing.T) {
	t.Parallel()
	spec := mustSpec(t)
	typ := reflect.TypeFor[isolation.Properties]()
	if typ.NumField() != len(propertyNames) {
		t.Errorf("%d properties, this test knows %d", typ.NumField(), len(propertyNames))
	}
	found := 0
	for i := range typ.NumField() {
		name := propertyNames[typ.Field(i).Name]
		if name == "" {
			t.Errorf("the property %s is new: add its name to this test", typ.Field(i).Name)
		}
		fresh := spec.Properties()
		for n, way := range sabotages(reflect.ValueOf(&fresh).Elem().Field(i)) {
			observed := spec.Properties()
			way(reflect.ValueOf(&observed).Elem().Field(i))
			if reflect.DeepEqual(observed, spec.Properties()) {
				continue // this way changed nothing, as emptying what is empty
			}
			found++
			diffs := isolation.Compare(spec, observed)
			if len(diffs) != 1 || diffs[0].Property != name || diffs[0].Want == "" || diffs[0].Got == "" {
				t.Errorf("%s, way %d: got %+v, want one difference named %q", typ.Field(i).Name, n, diffs, name)
			}
		}
	}
	if found < 150 {
		t.Errorf("only %d sabotages were tried", found)
	}
}

func TestCompareReportsAllDifferencesInTheOrderOfTheFields(t *testing.T) {
	t.Parallel()
	spec := mustSpec(t)
	observed := spec.Properties()
	observed.Warnings = []string{"w"}
	observed.Privileged = true
	observed.Name = "x"
	observed.Pids = 0
	var got []string
	for _, d := range isolation.Compare(spec, observed) {
		got = append(got, d.Property)
	}
	if want := []string{"name", "privileged", "pids", "warnings"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCompareIgnoresOrderWhereItMeansNothing(t *testing.T) {
	t.Parallel()
	spec := mustSpec(t)
	observed := spec.Properties()
	slices.Reverse(observed.Mounts)
	slices.Reverse(observed.Tmpfs)
	slices.Reverse(observed.Rlimits)
	slices.Reverse(observed.MaskedPaths)
	slices.Reverse(observed.ReadonlyPaths)
	for _, empty := range []*[]string{&observed.Env, &observed.Extra, &observed.Groups, &observed.Capabilities, &observed.Warnings} {
		*empty = []string{} // an adapter may say nothing either way
	}
	if diffs := isolation.Compare(spec, observed); len(diffs) != 0 {
		t.Errorf("got %+v", diffs)
	}
}

func TestCompareKeepsTheOrderOfArguments(t *testing.T) {
	t.Parallel()
	spec := mustSpec(t)
	observed := spec.Properties()
	slices.Reverse(observed.Args)
	diffs := isolation.Compare(spec, observed)
	if len(diffs) != 1 || diffs[0].Property != "args" {
		t.Errorf("got %+v", diffs)
	}
}

func TestCompareDoesNotChangeWhatItIsGiven(t *testing.T) {
	t.Parallel()
	spec := mustSpec(t)
	observed := spec.Properties()
	slices.Reverse(observed.MaskedPaths)
	slices.Reverse(observed.Mounts)
	before := fmt.Sprint(observed)
	isolation.Compare(spec, observed)
	if fmt.Sprint(observed) != before {
		t.Error("the observed properties changed")
	}
}

func TestCompareTellsApartWhatJSONCannot(t *testing.T) {
	t.Parallel()
	spec := mustSpec(t)
	observed := spec.Properties()
	observed.Args[1] += "\xff"
	if diffs := isolation.Compare(spec, observed); len(diffs) != 1 || diffs[0].Property != "args" {
		t.Errorf("got %+v", diffs)
	}
}
