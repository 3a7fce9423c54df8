// The types of the CommonJS build.
import corank = require("corank");

async function main(): Promise<void> {
  const client: corank.Client = corank.connect();
  const sorted: Uint16Array = await client.sort(Uint16Array.of(2, 1), { type: "bfloat16" });
  client.close();
  if (sorted[0] !== 1) throw new Error("not sorted");
}
void main();
