"""The protobuf messages of corank.v1, as in proto/corank/v1. Programs that use `corank.Client` do not need them."""
