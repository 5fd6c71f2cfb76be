package canon_test

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"cyberagent/domain/canon"
)

// TestJSONIsRFC8785 holds the examples of RFC 8785, sections 3.2.2 and 3.2.3.
func TestJSONIsRFC8785(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, in, want string
	}{
		{
			"the sample of section 3.2.2",
			`{
  "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
  "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
  "literals": [null, true, false]
}`,
			`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
		},
		{
			"keys sort by UTF-16 code units, section 3.2.3",
			`{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}`,
			"{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u0080\":\"Control\",\"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",\"😀\":\"Emoji: Grinning Face\",\"\ufb33\":\"Hebrew Letter Dalet With Dagesh\"}",
		},
		{"nested objects sort too", `{"b":{"d":1,"c":2},"a":[{"z":1,"y":2}]}`, `{"a":[{"y":2,"z":1}],"b":{"c":2,"d":1}}`},
		{"empty containers", `{"a":{},"b":[]}`, `{"a":{},"b":[]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := canon.JSON(json.RawMessage(c.in))
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestNumbersAreRFC8785 holds the table of RFC 8785, appendix B.
func TestNumbersAreRFC8785(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		bits uint64
		want string
	}{
		{0x0000000000000000, "0"},
		{0x8000000000000000, "0"},
		{0x0000000000000001, "5e-324"},
		{0x8000000000000001, "-5e-324"},
		{0x7fefffffffffffff, "1.7976931348623157e+308"},
		{0xffefffffffffffff, "-1.7976931348623157e+308"},
		{0x4340000000000000, "9007199254740992"},
		{0xc340000000000000, "-9007199254740992"},
		{0x4430000000000000, "295147905179352830000"},
		{0x44b52d02c7e14af5, "9.999999999999997e+22"},
		{0x44b52d02c7e14af6, "1e+23"},
		{0x44b52d02c7e14af7, "1.0000000000000001e+23"},
		{0x444b1ae4d6e2ef4e, "999999999999999700000"},
		{0x444b1ae4d6e2ef4f, "999999999999999900000"},
		{0x444b1ae4d6e2ef50, "1e+21"},
		{0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"},
		{0x3eb0c6f7a0b5ed8d, "0.000001"},
		{0x41b3de4355555553, "333333333.3333332"},
		{0x41b3de4355555554, "333333333.33333325"},
		{0x41b3de4355555555, "333333333.3333333"},
		{0x41b3de4355555556, "333333333.3333334"},
		{0x41b3de4355555557, "333333333.33333343"},
		{0xbecbf647612f3696, "-0.0000033333333333333333"},
		{0x43143ff3c1cb0959, "1424953923781206.2"},
	} {
		t.Run(c.want, func(t *testing.T) {
			t.Parallel()
			got, err := canon.JSON([]float64{math.Float64frombits(c.bits)})
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != "["+c.want+"]" {
				t.Errorf("got %s, want [%s]", got, c.want)
			}
		})
	}
}

func TestJSONKeepsTextThatEncodingJSONEscapes(t *testing.T) {
	t.Parallel()
	got, err := canon.JSON(map[string]string{"k": "<a>&\u2028\x7f\b\f\n\r\t\x01\"\\/"})
	if err != nil {
		t.Fatal(err)
	}
	if want := "{\"k\":\"<a>&\u2028\x7f" + `\b\f\n\r\t\u0001\"\\/"}`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Canonical JSON has only doubles: a larger integer would come out as another
// one, so two values would have one digest and a decoder would read a third.
func TestJSONRefusesIntegersThatItWouldChange(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		v    any
		ok   bool
	}{
		{"2^53", []int64{1 << 53}, true},
		{"-2^53", []int64{-(1 << 53)}, true},
		{"2^53+1", []int64{1<<53 + 1}, false},
		{"-(2^53+1)", []int64{-(1<<53 + 1)}, false},
		{"nanoseconds of a date", []int64{1795968000123456789}, false},
		{"2^63, exact as a double but printed otherwise", []uint64{1 << 63}, false},
		{"the largest", []uint64{math.MaxUint64}, false},
		{"nested", map[string]any{"a": map[string]uint64{"inode": math.MaxUint64 - 1}}, false},
		{"as text", []string{"18446744073709551615"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b, err := canon.JSON(c.v)
			if (err == nil) != c.ok {
				t.Errorf("got %s, %v; want success %v", b, err, c.ok)
			}
		})
	}
}

func TestDigestIsSHA256OfTheCanonicalForm(t *testing.T) {
	t.Parallel()
	// printf '{"a":1,"b":[true,"x"]}' | sha256sum
	const want = "63e8063d9dc6f0fd5a24b4706818a165fd57c3531b74466cf5dea62bff09b0b6"
	got := canon.Digest(map[string]any{"b": []any{true, "x"}, "a": 1})
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	// printf '' | sha256sum
	if got := canon.SHA256(nil); got != "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" {
		t.Errorf("the digest of nothing is %s", got)
	}
}

func TestDigestPanicsOnWhatHasNoCanonicalForm(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("no panic for a channel")
		}
	}()
	canon.Digest(make(chan int))
}

func TestIsSHA256(t *testing.T) {
	t.Parallel()
	ok := strings.Repeat("0123456789abcdef", 4)
	for _, c := range []struct {
		name, s string
		want    bool
	}{
		{"exact", ok, true},
		{"empty", "", false},
		{"one short", ok[1:], false},
		{"one long", ok + "0", false},
		{"upper case", strings.ToUpper(ok), false},
		{"with its algorithm", "sha256:" + ok, false},
		{"letter g", "g" + ok[1:], false},
		{"newline", ok[:63] + "\n", false},
		{"two bytes of UTF-8", ok[:62] + "é", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := canon.IsSHA256(c.s); got != c.want {
				t.Errorf("IsSHA256(%q) is %v", c.s, got)
			}
		})
	}
}

type inner struct {
	X int `json:"x"`
}

type outer struct {
	A     int              `json:"a"`
	Text  string           `json:"text"`
	In    inner            `json:"in"`
	Ptr   *inner           `json:"ptr"`
	List  []inner          `json:"list"`
	Words map[string]inner `json:"words"`
	Any   any              `json:"any"`
	Skip  int              `json:"-"`
	Plain int
}

func TestStrict(t *testing.T) {
	t.Parallel()
	deep := func(n int) string {
		return `{"any":` + strings.Repeat("[", n) + strings.Repeat("]", n) + "}"
	}
	for _, c := range []struct {
		name, in string
		ok       bool
	}{
		{"empty object", `{}`, true},
		{"every field", `{"a":1,"text":"x","in":{"x":1},"ptr":{"x":2},"list":[{"x":3}],"words":{"w":{"x":4}},"any":{"free":1},"Plain":1}`, true},
		{"white space around", " \n{\"a\":1}\t\n", true},
		{"same key in two objects", `{"in":{"x":1},"ptr":{"x":1}}`, true},
		{"keys of a map that differ in case", `{"words":{"w":{"x":1},"W":{"x":2}}}`, true},
		{"escaped surrogate pair", `{"text":"\ud83d\ude00"}`, true},
		{"escaped backslash before u", `{"text":"\\ud83d"}`, true},
		{"null for a struct", `{"in":null}`, true},

		{"nothing", ``, false},
		{"white space only", " \n", false},
		{"cut off", `{"a":1`, false},
		{"unknown field", `{"b":1}`, false},
		{"unknown field nested", `{"in":{"y":1}}`, false},
		{"unknown field in a list", `{"list":[{"x":1},{"y":1}]}`, false},
		{"unknown field behind a pointer", `{"ptr":{"y":1}}`, false},
		{"unknown field in a map's value", `{"words":{"w":{"y":1}}}`, false},
		{"field that is not for JSON", `{"Skip":1}`, false},
		{"field's name in another case", `{"A":1}`, false},
		{"field's name in another case, nested", `{"in":{"X":1}}`, false},
		{"field that folds to an ASCII letter", "{\"li\u017ft\":[]}", false},
		{"duplicate key", `{"a":1,"a":2}`, false},
		{"duplicate key, the same value", `{"a":1,"a":1}`, false},
		{"duplicate key, escaped", `{"a":1,"\u0061":2}`, false},
		{"duplicate key in another case", `{"a":1,"A":2}`, false},
		{"duplicate key nested", `{"in":{"x":1,"x":2}}`, false},
		{"duplicate key in a list", `{"list":[{"x":1,"x":2}]}`, false},
		{"duplicate key in a map", `{"words":{"w":{"x":1},"w":{"x":2}}}`, false},
		{"duplicate key where anything may stand", `{"any":{"k":[{"z":1,"z":2}]}}`, false},
		{"second value", `{"a":1}{"a":2}`, false},
		{"second value on another line", "{\"a\":1}\n{\"a\":2}", false},
		{"brace too many", `{"a":1}}`, false},
		{"word after it", `{"a":1} x`, false},
		{"comma at the end", `{"a":1,}`, false},
		{"comment", `{"a":1} // x`, false},
		{"invalid UTF-8 in a value", "{\"text\":\"\xff\"}", false},
		{"invalid UTF-8 in a key", "{\"\xff\":1}", false},
		{"overlong UTF-8", "{\"text\":\"\xc0\xaf\"}", false},
		{"UTF-8 of a surrogate", "{\"text\":\"\xed\xa0\x80\"}", false},
		{"escaped high surrogate alone", `{"text":"\ud83d"}`, false},
		{"escaped high surrogate before text", `{"text":"\ud83dx\ude00"}`, false},
		{"escaped low surrogate alone", `{"text":"\ude00"}`, false},
		{"escaped surrogates swapped", `{"text":"\ude00\ud83d"}`, false},
		{"byte order mark", "\xef\xbb\xbf{}", false},
		{"NUL in a string", "{\"text\":\"\x00\"}", false},
		{"newline in a string", "{\"text\":\"\n\"}", false},
		{"wrong type", `{"a":"1"}`, false},
		{"fraction for an integer", `{"a":1.5}`, false},
		{"integer that does not fit", `{"a":9223372036854775808}`, false},
		{"leading zero", `{"a":01}`, false},
		{"NaN", `{"a":NaN}`, false},

		{"nested 60 deep", deep(60), true},
		{"nested 65 deep", deep(65), false},
		{"nested a million deep", deep(1_000_000), false},
		{"a million openings", strings.Repeat(`{"any":`, 1_000_000), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var v outer
			if err := canon.Strict([]byte(c.in), &v); (err == nil) != c.ok {
				t.Errorf("got %v, want success %v", err, c.ok)
			}
		})
	}
}

func TestStrictDecodesWhatItAccepts(t *testing.T) {
	t.Parallel()
	var v outer
	if err := canon.Strict([]byte(`{"a":7,"list":[{"x":1},{"x":2}],"in":{"x":3}}`), &v); err != nil {
		t.Fatal(err)
	}
	if v.A != 7 || v.In.X != 3 || !slices.Equal(v.List, []inner{{1}, {2}}) {
		t.Errorf("got %+v", v)
	}
}

// FuzzStrict: what Strict accepts has a canonical form, which Strict accepts
// again and which does not change any more.
func FuzzStrict(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"a":1}`, `{"a":1,"a":2}`, `{"any":[1,"x",null,{"y":1e3}]}`, `{"words":{"\u20ac":{"x":1}}}`,
		`{"text":"\ud83d\ude00"}`, `{"A":1}`, `{"a":1} `, "{\"text\":\"\xff\"}", `{"list":[{}]}`, `null`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var v outer
		if canon.Strict(data, &v) != nil {
			return
		}
		first, err := canon.JSON(v)
		if err != nil {
			return // an integer beyond the doubles' own
		}
		var again outer
		if err := canon.Strict(first, &again); err != nil {
			t.Fatalf("%s: its canonical form %s is refused: %v", data, first, err)
		}
		second, err := canon.JSON(again)
		if err != nil {
			t.Fatal(err)
		}
		if string(first) != string(second) {
			t.Fatalf("%s became %s", first, second)
		}
	})
}
