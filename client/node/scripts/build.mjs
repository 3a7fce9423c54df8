// Compiles src into dist/esm and dist/cjs, each with types.
import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";

const root = new URL("..", import.meta.url);
rmSync(new URL("dist", root), { recursive: true, force: true });
for (const config of ["tsconfig.json", "tsconfig.cjs.json"]) {
  execFileSync(process.execPath, ["node_modules/typescript/bin/tsc", "-p", config], { cwd: root, stdio: "inherit" });
}
writeFileSync(new URL("dist/cjs/package.json", root), '{ "type": "commonjs" }\n');
