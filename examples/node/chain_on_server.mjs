// Keeps a day of measurements on the server, sorts it there, and finds the quartiles: only they come back.
import { connect } from "corank";

const client = connect();
const measured = new Float64Array(200_000).map(() => Math.random() * 100);
const day = await client.store("node-example-day", measured);

const chain = client.chain();
const sorted = chain.sort(day);
const quartiles = chain.gather(sorted, { sourceOffsets: [50_000, 100_000, 150_000], counts: 1 });
await chain.run();

const expected = measured.slice().sort();
if (quartiles.result().some((value, at) => value !== expected[50_000 * (at + 1)])) {
  throw new Error("these are not the quartiles");
}
console.log(`quartiles: ${[...quartiles.result()].map((value) => value.toFixed(1)).join(", ")}`);
await day.delete();
client.close();
