// Finds the 100 slowest of a million requests, and who made them, in one call; then checks the answer.
import { connect } from "corank";

const count = 1_000_000;
const milliseconds = Float32Array.from({ length: count }, () => -Math.log(Math.random()) * 20);
const callers = Uint32Array.from({ length: count }, (_, at) => at % 5000);

const client = connect();
const slowest = await client.sortWithValues(milliseconds, callers, { descending: true, limit: 100 });
client.close();

const expected = milliseconds.slice().sort().reverse().slice(0, 100);
if (!slowest.keys.every((value, at) => value === expected[at])) {
  throw new Error("these are not the slowest requests");
}
const worst = new Map();
for (const caller of slowest.values) {
  worst.set(caller, (worst.get(caller) ?? 0) + 1);
}
console.log(`slowest: ${slowest.keys[0].toFixed(1)} ms; ${worst.size} callers have the 100 slowest requests`);
