package corank

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"unsafe"

	"github.com/corank/corank/client/go/corankpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protowire"
)

// Float16 holds the bits of an IEEE 754 binary16 number.
type Float16 uint16

// BFloat16 holds the upper half of the bits of an IEEE 754 binary32 number.
type BFloat16 uint16

// Key is an element type that has an order.
type Key interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~int | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uint | ~float32 | ~float64
}

// ElementType names the type of an array's elements.
type ElementType = corankpb.ElementType

// Array is an input or a result of an operator: elements in memory of this process (Of, Records), an array that the
// server keeps (Client.Stored), or a result of a Chain. An Array refers to the memory of the slice that it was made of.
// The slice must not change during a call that reads it.
type Array struct {
	kind     ElementType
	width    int
	count    int64 // -1: not known before the answer
	data     []byte
	name     string // of an array that the server keeps
	sharded  bool   // it divides this one among its GPUs
	initial  bool   // made by Zeros
	chain    *Chain // that it is a result of; it is pending until the chain has run
	link     string // its name in the chain, if a later operator takes it
	taken    bool   // by a later operator of the chain
	position bool   // of 4 or 8 bytes, as the server decides
	err      error
}

var isLittleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// kindOf is the element type of T and the bytes of an element.
func kindOf(t reflect.Type) (ElementType, int, error) {
	width := int(t.Size())
	switch t {
	case reflect.TypeFor[Float16]():
		return corankpb.ElementType_ELEMENT_TYPE_FLOAT16, width, nil
	case reflect.TypeFor[BFloat16]():
		return corankpb.ElementType_ELEMENT_TYPE_BFLOAT16, width, nil
	}
	switch t.Kind() {
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Int:
		return sized(width, corankpb.ElementType_ELEMENT_TYPE_INT8, corankpb.ElementType_ELEMENT_TYPE_INT16,
			corankpb.ElementType_ELEMENT_TYPE_INT32, corankpb.ElementType_ELEMENT_TYPE_INT64), width, nil
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uint, reflect.Bool:
		return sized(width, corankpb.ElementType_ELEMENT_TYPE_UINT8, corankpb.ElementType_ELEMENT_TYPE_UINT16,
			corankpb.ElementType_ELEMENT_TYPE_UINT32, corankpb.ElementType_ELEMENT_TYPE_UINT64), width, nil
	case reflect.Float32:
		return corankpb.ElementType_ELEMENT_TYPE_FLOAT32, width, nil
	case reflect.Float64:
		return corankpb.ElementType_ELEMENT_TYPE_FLOAT64, width, nil
	}
	if !isPlain(t) {
		return 0, 0, invalid("", "elements of type %v hold pointers; only plain values travel", t)
	}
	if width < 1 || width > maxRecordBytes {
		return 0, 0, invalid("", "elements of type %v have %d bytes; records have 1 to %d", t, width, maxRecordBytes)
	}
	return corankpb.ElementType_ELEMENT_TYPE_RECORD, width, nil
}

const maxRecordBytes = 256

func sized(width int, kinds ...ElementType) ElementType {
	switch width {
	case 1:
		return kinds[0]
	case 2:
		return kinds[1]
	case 4:
		return kinds[2]
	}
	return kinds[3]
}

// isPlain tells whether values of a type hold no pointers, so that their bytes are all there is.
func isPlain(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Array:
		return isPlain(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if !isPlain(t.Field(i).Type) {
				return false
			}
		}
		return true
	}
	return t.Kind() >= reflect.Bool && t.Kind() <= reflect.Complex128 && t.Kind() != reflect.Uintptr
}

// Of makes an array of a slice, without a copy. T is a number, or a type of 1 to 256 bytes without pointers, such as a
// struct or [12]byte, whose values travel as records. An element type that cannot travel is an error of the call.
func Of[T any](elements []T) *Array {
	kind, width, err := kindOf(reflect.TypeFor[T]())
	if err == nil && !isLittleEndian {
		err = &Error{Code: codes.Unimplemented, Message: "corank needs a little-endian machine"}
	}
	made := &Array{kind: kind, width: width, count: int64(len(elements)), err: err}
	if err == nil {
		made.data = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(elements))), len(elements)*width)
	}
	return made
}

// Records makes an array of records of recordBytes bytes each, 1 to 256, that lie one after the other in data.
func Records(data []byte, recordBytes int) *Array {
	made := &Array{kind: corankpb.ElementType_ELEMENT_TYPE_RECORD, width: recordBytes, data: data}
	switch {
	case recordBytes < 1 || recordBytes > maxRecordBytes:
		made.err = invalid("", "records of %d bytes; they have 1 to %d", recordBytes, maxRecordBytes)
	case len(data)%recordBytes != 0:
		made.err = invalid("", "%d bytes are no whole number of records of %d bytes", len(data), recordBytes)
	default:
		made.count = int64(len(data) / recordBytes)
	}
	return made
}

// Zeros is the destination of Move and Scatter that has count elements of zero bytes before the copies.
func Zeros(count int) *Array { return &Array{count: int64(count), initial: true} }

// Slice returns the elements of a result without a copy. T must be the type of the elements; for records, any type
// without pointers of the same size.
func Slice[T any](a *Array) ([]T, error) {
	if err := a.here(); err != nil {
		return nil, err
	}
	kind, width, err := kindOf(reflect.TypeFor[T]())
	if err != nil {
		return nil, err
	}
	if kind != a.kind || width != a.width {
		return nil, invalid("", "the array holds %v, not %v", a, reflect.TypeFor[T]())
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(a.data))), int(a.count)), nil
}

// here returns an error unless the elements are in this process.
func (a *Array) here() error {
	switch {
	case a == nil:
		return invalid("", "this call has no such result")
	case a.err != nil:
		return a.err
	case a.taken:
		return invalid("", "a later operator of the chain took this result, which stayed on the server")
	case a.chain != nil:
		return invalid("", "the chain has not run; call Run first")
	case a.name != "":
		return invalid("", "the server keeps %q; Client.Fetch copies it", a.name)
	case a.initial:
		return invalid("", "Zeros is a destination; it has no elements")
	}
	return nil
}

// Type is the type of the elements.
func (a *Array) Type() ElementType { return a.kind }

// Len is the number of elements, or -1 for the result of a chain whose length only the answer tells.
func (a *Array) Len() int { return int(a.count) }

// ElementBytes is the number of bytes of an element.
func (a *Array) ElementBytes() int { return a.width }

// Name is the name under which the server keeps the array; empty for all others.
func (a *Array) Name() string {
	if a.chain != nil {
		return ""
	}
	return a.name
}

// Sharded tells whether the server keeps the array divided among its GPUs.
func (a *Array) Sharded() bool { return a.sharded }

// Bytes returns the elements as they lie in memory, little-endian, without a copy. It is nil for arrays that are not in
// this process.
func (a *Array) Bytes() []byte { return a.data }

// String describes the array, such as "3 x INT32".
func (a *Array) String() string {
	kind := a.kind.String()[len("ELEMENT_TYPE_"):]
	if a.kind == corankpb.ElementType_ELEMENT_TYPE_RECORD {
		kind = fmt.Sprintf("%s of %d bytes", kind, a.width)
	}
	return fmt.Sprintf("%d x %s", a.count, kind)
}

// header is the message of the array without its place.
func (a *Array) header() *corankpb.Array {
	made := &corankpb.Array{Type: a.kind}
	if a.count >= 0 {
		made.Count = &a.count
	}
	if a.kind == corankpb.ElementType_ELEMENT_TYPE_RECORD {
		made.RecordBytes = uint32(a.width)
	}
	return made
}

// appendHeader serialises the header, as small calls need it fast.
func (a *Array) appendHeader(to []byte) []byte {
	to = protowire.AppendVarint(protowire.AppendTag(to, arrayType, protowire.VarintType), uint64(a.kind))
	to = protowire.AppendVarint(protowire.AppendTag(to, arrayCount, protowire.VarintType), uint64(a.count))
	if a.kind == corankpb.ElementType_ELEMENT_TYPE_RECORD {
		to = protowire.AppendVarint(protowire.AppendTag(to, arrayRecord, protowire.VarintType), uint64(a.width))
	}
	return to
}

func (a *Array) isRemote() bool { return a.name != "" }

func (a *Array) bytes() int64 { return max(a.count, 0) * int64(a.width) }

// aligned makes a buffer in which elements of every type may lie.
func aligned(bytes int64) []byte {
	words := make([]uint64, (bytes+7)/8)
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), bytes)
}

// overlap tells whether two buffers share memory.
func overlap(a, b []byte) bool {
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	first, second := uintptr(unsafe.Pointer(&a[0])), uintptr(unsafe.Pointer(&b[0]))
	return first < second+uintptr(len(b)) && second < first+uintptr(len(a))
}

// Column is a column of a key of several columns.
type Column struct {
	// Data holds the rows: numbers, records (compared as unsigned bytes), or the joined bytes of strings (uint8).
	Data *Array
	// Offsets is set for strings of any length: string i is Data[Offsets[i]:Offsets[i+1]]. It holds int64, one more
	// than there are rows.
	Offsets *Array
	// Descending orders this column greatest first.
	Descending bool
	// Validity is set if rows may be null: a bitmap as in Apache Arrow, uint8, one byte for each 8 rows or part of 8.
	// Row i is null if bit i%8 of byte i/8 is 0, where bit 0 is the least significant one. Null rows are equal, whatever
	// Data holds for them, and keep these data. PackValidity makes a validity.
	Validity *Array
	// NullsFirst puts nulls before all other rows, also in a descending column; by default they come last.
	NullsFirst bool
	// NaNs is the place of NaNs.
	NaNs NaNOrder
}

// NaNOrder is the place of the NaNs of a column.
type NaNOrder int

const (
	// NaNGreatest makes NaNs greater than all numbers, so that a descending column begins with them.
	NaNGreatest NaNOrder = iota
	// NaNBesideNulls puts NaNs between the numbers and the nulls, also in a descending column and without a Validity.
	NaNBesideNulls
	// NaNAsNulls puts NaNs among the nulls, as their equals, also without a Validity.
	NaNAsNulls
)

// PackValidity makes the validity of a column: whether each row is not null.
func PackValidity(valid []bool) *Array {
	packed := make([]uint8, (len(valid)+7)/8)
	for i, isValid := range valid {
		if isValid {
			packed[i/8] |= 1 << (i % 8)
		}
	}
	return Of(packed)
}

// IsNull tells whether a row of a column whose validity is here is null.
func (c Column) IsNull(row int) bool {
	return c.Validity != nil && c.Validity.data[row/8]>>(row%8)&1 == 0
}

// Text makes a column of strings, which are compared byte by byte.
func Text[S ~string | ~[]byte](rows []S) Column {
	offsets, total := make([]int64, len(rows)+1), 0
	for i, row := range rows {
		total += len(row)
		offsets[i+1] = int64(total)
	}
	joined := make([]byte, 0, total)
	for _, row := range rows {
		joined = append(joined, row...)
	}
	return Column{Data: Of(joined), Offsets: Of(offsets)}
}

// Strings returns the rows of a sorted column of strings.
func (c Column) Strings() ([]string, error) {
	if c.Offsets == nil {
		return nil, invalid("", "the column holds %v, no strings", c.Data)
	}
	offsets, err := Slice[int64](c.Offsets)
	if err != nil {
		return nil, err
	}
	if err := c.Data.here(); err != nil {
		return nil, err
	}
	joined := string(c.Data.data)
	rows := make([]string, max(len(offsets)-1, 0))
	for i := range rows {
		begin, end := offsets[i], offsets[i+1]
		if begin < 0 || end < begin || end > int64(len(joined)) {
			return nil, internal("the server answered strings whose offsets are not those of their bytes")
		}
		rows[i] = joined[begin:end]
	}
	return rows, nil
}
