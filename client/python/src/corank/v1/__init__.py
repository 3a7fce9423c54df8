"""The protobuf messages of corank.v1, made from proto/corank/v1 by generate.py."""
