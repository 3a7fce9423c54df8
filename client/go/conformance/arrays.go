package main

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"unsafe"

	corank "github.com/corank/corank/client/go"
)

// array is an array of a command.
type array struct {
	Type        string  `json:"type"`
	RecordBytes int     `json:"record_bytes"`
	Data        *string `json:"data"`
	Generator   string  `json:"generator"`
	Seed        uint32  `json:"seed"`
	Count       int64   `json:"count"`
	Start       int64   `json:"start"`
	Step        int64   `json:"step"`
	Kept        string  `json:"kept"`
	Result      string  `json:"result"`
	Of          int     `json:"of"`
}

type column struct {
	Data     *array `json:"data"`
	Offsets  *array `json:"offsets"`
	Validity *array `json:"validity"`
	Order    string `json:"order"`
	Nulls    string `json:"nulls"`
	NaNs     string `json:"nans"`
}

// list is one array or several.
type list []*array

func (l *list) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '[' {
		var all []json.RawMessage
		if err := json.Unmarshal(data, &all); err != nil {
			return err
		}
		*l = list{}
		for _, each := range all {
			var found array
			strict(each, &found)
			*l = append(*l, &found)
		}
		return nil
	}
	var found array
	strict(data, &found)
	*l = list{&found}
	return nil
}

// arguments are those of every operator.
type arguments struct {
	Keys               list     `json:"keys"`
	Values             list     `json:"values"`
	Columns            []column `json:"columns"`
	HaystackColumns    []column `json:"haystack_columns"`
	NeedleColumns      []column `json:"needle_columns"`
	Output             string   `json:"output"`
	Order              string   `json:"order"`
	Algorithm          string   `json:"algorithm"`
	Segments           *array   `json:"segment_offsets"`
	Runs               *array   `json:"run_offsets"`
	Limit              *int     `json:"limit"`
	Offset             *int     `json:"offset"`
	AssumeSorted       bool     `json:"assume_sorted"`
	Counts             *array   `json:"counts"`
	Source             *array   `json:"source"`
	SourceOffsets      *array   `json:"source_offsets"`
	DestinationOffsets *array   `json:"destination_offsets"`
	Destination        *array   `json:"destination"`
	DestinationCount   *int     `json:"destination_count"`
	AllowOverlap       bool     `json:"allow_overlap"`
	Haystack           *array   `json:"haystack"`
	Needles            *array   `json:"needles"`
	Bound              string   `json:"bound"`
	Input              string   `json:"input"`
	Outputs            []string `json:"outputs"`
	Operation          string   `json:"operation"`
	Left               *array   `json:"left"`
	Right              *array   `json:"right"`
	ValuesValidity     *array   `json:"values_validity"`
	LeftValues         *array   `json:"left_values"`
	RightValues        *array   `json:"right_values"`
	CountOnly          bool     `json:"count_only"`
	Kind               string   `json:"kind"`
	RightSorted        bool     `json:"right_sorted"`
	MaxRows            *int64   `json:"max_rows"`
	Elements           *array   `json:"elements"`
	Flags              *array   `json:"flags"`
	Bitmap             *array   `json:"bitmap"`
	Positions          *array   `json:"positions"`
	Threshold          *array   `json:"threshold"`
	Comparison         string   `json:"comparison"`
	Negate             bool     `json:"negate"`
	Inserted           *array   `json:"inserted"`
	Method             string   `json:"method"`
	KeysSorted         bool     `json:"keys_sorted"`
}

// of makes an array of elements that have a type of Go.
func of[T any](data []byte) *corank.Array {
	var zero T
	width := int(unsafe.Sizeof(zero))
	elements := make([]T, len(data)/width)
	copy(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(elements))), len(elements)*width), data)
	return corank.Of(elements)
}

var makers = map[string]struct {
	width int
	make  func([]byte) *corank.Array
}{
	"int8": {1, of[int8]}, "int16": {2, of[int16]}, "int32": {4, of[int32]}, "int64": {8, of[int64]},
	"uint8": {1, of[uint8]}, "uint16": {2, of[uint16]}, "uint32": {4, of[uint32]}, "uint64": {8, of[uint64]},
	"float16": {2, of[corank.Float16]}, "bfloat16": {2, of[corank.BFloat16]},
	"float32": {4, of[float32]}, "float64": {8, of[float64]},
}

// local makes an array whose elements the command holds.
func (a *array) local() *corank.Array {
	width := a.RecordBytes
	maker, isNumber := makers[a.Type]
	if isNumber {
		width = maker.width
	} else if a.Type != "record" {
		fmt.Fprintf(os.Stderr, "conformance: no type %q\n", a.Type)
		os.Exit(2)
	}
	var data []byte
	switch {
	case a.Data != nil:
		var err error
		if data, err = base64.StdEncoding.DecodeString(*a.Data); err != nil {
			panic(err)
		}
	case a.Generator == "hash":
		data = hashed(a.Seed, int(a.Count)*width)
	default:
		data = make([]byte, 0, int(a.Count)*width+8)
		for i := range a.Count {
			data = binary.LittleEndian.AppendUint64(data, uint64(a.Start+i*a.Step))[:int(i+1)*width]
		}
	}
	if isNumber {
		return maker.make(data)
	}
	return corank.Records(data, width)
}

func hashed(seed uint32, size int) []byte {
	data := make([]byte, 0, size+4)
	for word := seed; len(data) < size; word++ {
		h := word
		h ^= h >> 16
		h *= 0x85ebca6b
		h ^= h >> 13
		h *= 0xc2b2ae35
		h ^= h >> 16
		data = binary.LittleEndian.AppendUint32(data, h)
	}
	return data[:size]
}

// result is an array of an answer.
func (a *asked) result(name string, found *corank.Array) object {
	kind := strings.ToLower(strings.TrimPrefix(found.Type().String(), "ELEMENT_TYPE_"))
	made := object{"type": kind, "count": found.Len()}
	if kind == "record" {
		made["record_bytes"] = found.ElementBytes()
	}
	if found.Name() != "" {
		made["kept"], made["sharded"] = found.Name(), found.Sharded()
		return made
	}
	data := found.Bytes()
	if !a.digest {
		made["data"] = base64.StdEncoding.EncodeToString(data)
		return made
	}
	if slices.Contains([]string{"indices", "objects", "ranks", "positions", "firsts"}, name) && kind != "float64" {
		var wide []byte
		for i := range found.Len() {
			if kind == "uint32" {
				wide = binary.LittleEndian.AppendUint64(wide, uint64(binary.LittleEndian.Uint32(data[4*i:])))
			} else {
				wide = binary.LittleEndian.AppendUint64(wide, binary.LittleEndian.Uint64(data[8*i:]))
			}
		}
		data = wide
		made["type"] = "int64"
	}
	sum := sha256.Sum256(data)
	made["sha256"] = hex.EncodeToString(sum[:])
	return made
}
