// Calls a Flight gateway as a program in Go does: sorts, keeps, lists, joins and drops tables, and meets errors.
//
//	go run . HOST:PORT
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

var schema = arrow.NewSchema([]arrow.Field{
	{Name: "city", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "amount", Type: arrow.PrimitiveTypes.Int64},
}, nil)

func batch(cities []string, amounts []int64) arrow.RecordBatch {
	made := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer made.Release()
	for _, city := range cities {
		if city == "" {
			made.Field(0).AppendNull()
		} else {
			made.Field(0).(*array.StringBuilder).Append(city)
		}
	}
	made.Field(1).(*array.Int64Builder).AppendValues(amounts, nil)
	return made.NewRecordBatch()
}

func command(members map[string]any) *flight.FlightDescriptor {
	text, err := json.Marshal(members)
	must(err)
	return &flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: text}
}

// Sends batches and ends the stream's first half.
func send(stream flight.DataStreamWriter, descriptor *flight.FlightDescriptor, batches ...arrow.RecordBatch) error {
	writer := flight.NewRecordWriter(stream, ipc.WithSchema(schema))
	writer.SetFlightDescriptor(descriptor)
	for _, each := range batches {
		if err := writer.Write(each); err != nil {
			return err
		}
	}
	return writer.Close()
}

// The values of a column of all batches.
func values(stream flight.DataStreamReader, name string) ([]string, error) {
	reader, err := flight.NewRecordReader(stream)
	if err != nil {
		return nil, err
	}
	defer reader.Release()
	found := []string{}
	for reader.Next() {
		column := reader.RecordBatch().Column(reader.Schema().FieldIndices(name)[0])
		for at := range column.Len() {
			found = append(found, column.ValueStr(at))
		}
	}
	return found, reader.Err()
}

func exchange(ctx context.Context, client flight.Client, text map[string]any, column string) ([]string, error) {
	stream, err := client.DoExchange(ctx)
	if err != nil {
		return nil, err
	}
	first := batch([]string{"Oslo", "Voss", ""}, []int64{10, 20, 30})
	second := batch([]string{"Bergen", "Oslo"}, []int64{40, 50})
	if err := send(stream, command(text), first, second); err != nil && err != io.EOF {
		return nil, err
	}
	must(stream.CloseSend())
	return values(stream, column)
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func same(what string, found, expected []string) {
	if !slices.Equal(found, expected) {
		must(fmt.Errorf("%s: found %q, expected %q", what, found, expected))
	}
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	insecurely := grpc.WithTransportCredentials(insecure.NewCredentials())
	client, err := flight.NewClientWithMiddleware(os.Args[1], nil, nil, insecurely)
	must(err)
	defer client.Close()

	found, err := exchange(ctx, client, map[string]any{"operator": "sort_by", "keys": "city"}, "amount")
	must(err)
	same("sort_by", found, []string{"40", "10", "50", "20", "30"})

	put, err := client.DoPut(ctx)
	must(err)
	path := &flight.FlightDescriptor{Type: flight.DescriptorPATH, Path: []string{"cities"}}
	must(send(put, path, batch([]string{"Oslo", "Bergen"}, []int64{1, 2})))
	must(put.CloseSend())
	told, err := put.Recv()
	must(err)
	if !bytes.Contains(told.AppMetadata, []byte(`"rows": 2`)) {
		must(fmt.Errorf("DoPut told %s", told.AppMetadata))
	}

	listing, err := client.ListFlights(ctx, &flight.Criteria{})
	must(err)
	info, err := listing.Recv()
	must(err)
	listed, err := flight.DeserializeSchema(info.Schema, memory.DefaultAllocator)
	must(err)
	if !listed.Equal(schema) || info.TotalRecords != 2 {
		must(fmt.Errorf("listed %v with %d rows", listed, info.TotalRecords))
	}
	get, err := client.DoGet(ctx, info.Endpoint[0].Ticket)
	must(err)
	found, err = values(get, "city")
	must(err)
	same("DoGet", found, []string{"Oslo", "Bergen"})

	join := map[string]any{"operator": "join_by", "on": "city", "right": "cities", "how": "left"}
	found, err = exchange(ctx, client, join, "amount_right")
	must(err)
	same("join_by", found, []string{"1", array.NullValueStr, array.NullValueStr, "2", "1"})

	_, err = exchange(ctx, client, map[string]any{"operator": "sort_by", "keys": "town"}, "amount")
	if status.Code(err) != codes.InvalidArgument {
		must(fmt.Errorf("a wrong key: %v", err))
	}
	drop, err := client.DoAction(ctx, &flight.Action{Type: "drop", Body: []byte("cities")})
	must(err)
	_, err = drop.Recv()
	must(err)
	gone, err := client.DoGet(ctx, info.Endpoint[0].Ticket)
	must(err)
	if _, err = gone.Recv(); status.Code(err) != codes.NotFound {
		must(fmt.Errorf("a dropped table: %v", err))
	}
	fmt.Println("corank-flight: Go's client works")
}
