// Sorts 10 million floats: three lines beside the import and the check.
import { connect } from "corank";

const floats = new Float32Array(10_000_000).map(() => Math.random());
const client = connect();
const sorted = await client.sort(floats);

client.close();
const expected = floats.sort();
if (!sorted.every((value, at) => value === expected[at])) throw new Error("not sorted");
