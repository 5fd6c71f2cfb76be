// Package fault is the product's one error type: a stable code, the field at
// fault, a sentence, and what to do about it.
//
// Codes are snake_case strings that are stored and printed. They are added,
// never renamed (contract section 4). Adapters translate their own errors at
// their edge; no vendor's error type crosses a port.
package fault

import (
	"errors"
	"fmt"
	"maps"
)

// Error is a failure that a person or a program can act on.
//
// Field names the input at fault (a flag's or a JSON field's name), Remedy says
// what to do in one sentence, Details holds facts for machines. Err is the
// cause and is never needed to understand the message.
type Error struct {
	Code    Code
	Field   string
	Msg     string
	Remedy  string
	Details map[string]string
	Err     error
}

// New makes an error with a code and a formatted sentence. Long words in it, such as
// paths, are cut in the middle.
func New(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Msg: brief(fmt.Sprintf(format, args...))}
}

// Wrap makes an error with a code and a sentence around a cause. A nil cause
// is allowed.
func Wrap(code Code, cause error, format string, args ...any) *Error {
	e := New(code, format, args...)
	e.Err = cause
	return e
}

// At returns a copy that names the field at fault.
func (e *Error) At(field string) *Error {
	c := *e
	c.Field = field
	return &c
}

// Hint returns a copy that says what to do.
func (e *Error) Hint(format string, args ...any) *Error {
	c := *e
	c.Remedy = fmt.Sprintf(format, args...)
	return &c
}

// With returns a copy that carries one more fact.
func (e *Error) With(key, value string) *Error {
	c := *e
	c.Details = maps.Clone(e.Details)
	if c.Details == nil {
		c.Details = map[string]string{}
	}
	c.Details[key] = brief(value)
	return &c
}

// Error says the field, the sentence and the cause.
func (e *Error) Error() string {
	s := e.Msg
	if e.Field != "" {
		s = e.Field + ": " + s
	}
	if e.Err != nil {
		s = brief(s + ": " + e.Err.Error())
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is makes errors.Is(err, fault.Code) work through Code.Error.
func (e *Error) Is(target error) bool {
	c, ok := target.(Code)
	return ok && c == e.Code
}

// CodeOf returns the code of the outermost fault in err's chain: internal when
// there is none, the empty code when err is nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return Internal
}

// From returns err's outermost fault, or one with the code internal around it.
// It returns nil for nil.
func From(err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return Wrap(Internal, err, "unexpected failure")
}
