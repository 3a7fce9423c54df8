// The same with CommonJS.
const { connect } = require("corank");

async function main() {
  const floats = new Float32Array(1_000_000).map(() => Math.random());
  const client = connect();
  const sorted = await client.sort(floats);
  client.close();
  const expected = floats.sort();
  if (!sorted.every((value, at) => value === expected[at])) throw new Error("not sorted");
}
main();
