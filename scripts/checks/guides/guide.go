// The blocks of the Go guide, which scripts/checks/guide_code.py puts here, run against the server in CORANK_SERVER.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	corank "github.com/corank/corank/client/go"
)

// What the guide takes for granted.
var (
	ctx     = context.Background()
	client  *corank.Client
	keys    = append(make([]float32, 100), -1)
	sorted  = []float32{1, 2, 3}
	rows    = make([]uint32, len(keys))
	needles = []float32{2}
	cities  = []string{"Ulm", "Bonn", "Ulm"}
	minutes = []int32{7, 9, 3}

	cityNumbers = []uint16{2, 1, 2}
	monday      = []uint32{1, 3, 3}
	tuesday     = []uint32{2, 3}

	orderNames    = []int64{7, 5, 7, 9}
	customerNames = []int64{5, 7}

	err error

	_ = errors.As
	_ = log.Printf
	_ = time.Second
)

func check(failed error) {
	if failed != nil {
		log.Panic(failed)
	}
}

// each block: begin
func NAME() {
	BLOCK
}

// each block: end
func main() {
	var failed error
	client, failed = corank.Connect("")
	check(failed)
	defer client.Close()
	_, err = client.Search(ctx, corank.Of(keys), corank.Of(needles)) // keys are not sorted
	if err == nil {
		log.Panic("the server searched in keys that are not sorted")
	}
	// each call: begin
	NAME()
	// each call: end
	fmt.Println("the blocks of the guide ran")
}
