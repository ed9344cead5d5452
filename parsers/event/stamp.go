package event

import (
	"strings"
	"time"
)

// Nanos is an instant in nanoseconds since the Unix epoch, UTC.
type Nanos int64

// Time converts to a time.Time in UTC.
func (n Nanos) Time() time.Time { return time.Unix(0, int64(n)).UTC() }

// Sub returns n-o as a duration.
func (n Nanos) Sub(o Nanos) time.Duration { return time.Duration(n - o) }

// Add returns n+d.
func (n Nanos) Add(d time.Duration) Nanos { return n + Nanos(d) }

// FromTime converts a time.Time.
func FromTime(t time.Time) Nanos { return Nanos(t.UnixNano()) }

// Missing says which parts of an instant the record did not carry.
type Missing uint8

// The parts a stamp may lack.
const (
	MissingYear  Missing = 1 << iota // "Dec 02 04:58:07", klog "I1202 04:58:07.1"
	MissingZone                      // no offset and no zone name
	MissingDate                      // tcpdump's default "17:33:57.727497"
	MissingEpoch                     // counts from an unknown start (monotonic, delta)
	// MissingCollection stands beside MissingEpoch where the start is the moment of
	// collection: see Age.
	MissingCollection
)

// Basis says what a resolved instant rests on; bits may be combined. Zero means
// the record carried the whole instant.
type Basis uint8

// What a stamp rests on beyond the record itself.
const (
	BasisYearInferred  Basis = 1 << iota // year from bounds (bundle timestamp, mtime, anchors)
	BasisZoneAssumed                     // zone UTC assumed or derived from an anchor
	BasisDateInferred                    // date from a sibling or by alignment
	BasisOffsetApplied                   // a clock offset was added
	BasisOverridden                      // the user supplied the missing part
)

var basisBits = [...]string{"year-inferred", "zone-assumed", "date-inferred", "offset-applied", "overridden"}

// basisNames holds the name of every set of bits: each row of the tables has one.
var basisNames = func() (names [1 << len(basisBits)]string) {
	names[0] = "recorded"
	for b := 1; b < len(names); b++ {
		var set []string
		for i, n := range basisBits {
			if b&(1<<i) != 0 {
				set = append(set, n)
			}
		}
		names[b] = strings.Join(set, ",")
	}
	return names
}()

// String lists the bits, "recorded" for none.
func (b Basis) String() string { return basisNames[int(b)%len(basisNames)] }

// PlaceholderYear is the year in which a stamp with MissingYear is kept until
// it is resolved; it is a leap year so that "Feb 29" survives.
const PlaceholderYear = 1972

// Stamp is an instant as recorded. As long as Missing is not zero, At is the
// wall-clock reading with PlaceholderYear, UTC and 1970-01-01 standing in for
// the missing parts; package clock resolves it, clears Missing and sets Basis.
// Precision is the size of the last recorded digit.
type Stamp struct {
	At        Nanos
	Precision time.Duration
	Missing   Missing
	Basis     Basis
}

// IsZero reports whether there is no stamp at all.
func (s Stamp) IsZero() bool { return s == Stamp{} }

// Known is a stamp that carried the whole instant.
func Known(at Nanos, precision time.Duration) Stamp { return Stamp{At: at, Precision: precision} }

// Age is the stamp of a record that tells only how long before the collection
// it was ("32m" in a table): At is minus the age, and package clock adds the
// collection time.
func Age(age, precision time.Duration) Stamp {
	return Stamp{At: Nanos(-age), Precision: precision, Missing: MissingEpoch | MissingCollection}
}
