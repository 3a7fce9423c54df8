// Sorts ten million numbers on a corank server, finds the three largest, and groups a table by two columns.
package main

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"
	"slices"

	corank "github.com/corank/corank/client/go"
)

func main() {
	ctx := context.Background()
	client, err := corank.Connect("") // the server in CORANK_SERVER, else 127.0.0.1:50051
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	delays := make([]float32, 10_000_000)
	for i := range delays {
		delays[i] = rand.Float32() * 60
	}
	sorted, err := corank.Sort(ctx, client, delays)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("sorted:", slices.IsSorted(sorted))

	worst, err := corank.Argsort(ctx, client, delays, corank.Descending(), corank.Limit(3))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("the worst delays are the greatest:", delays[worst[0]] == sorted[len(sorted)-1])

	rows, err := client.SortColumns(ctx, []corank.Column{
		corank.Text([]string{"Ulm", "Bonn", "Ulm"}),
		{Data: corank.Of([]int32{7, 9, 3}), Descending: true},
	})
	if err != nil {
		log.Fatal(err)
	}
	cities, err := rows.Columns[0].Strings()
	if err != nil {
		log.Fatal(err)
	}
	minutes, err := corank.Slice[int32](rows.Columns[1].Data)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(cities, minutes)
}
