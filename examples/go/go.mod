module example

go 1.24.0

require github.com/corank/corank/client/go v0.1.0

replace github.com/corank/corank/client/go => ../../client/go
