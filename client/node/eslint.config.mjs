import js from "@eslint/js";
import tseslint from "typescript-eslint";

const names =
  "AbortController Buffer URL clearTimeout console globalThis performance process require setTimeout".split(" ");

export default tseslint.config(
  { ignores: ["dist/", "build/", "src/pb/", "node_modules/"] },
  js.configs.recommended,
  {
    files: ["**/*.ts"],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { project: "./tsconfig.test.json", tsconfigRootDir: import.meta.dirname } },
    rules: {
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      // The contract's enums are those of ts-proto.
      "@typescript-eslint/no-unsafe-enum-comparison": "off",
      // Overloads tell several results apart that one signature would merge.
      "@typescript-eslint/unified-signatures": "off",
      "@typescript-eslint/explicit-function-return-type": ["error", { allowExpressions: true }],
      "max-len": ["error", { code: 120 }],
    },
  },
  { files: ["test/**/*.ts"], rules: { "@typescript-eslint/no-floating-promises": "off" } },
  {
    files: ["**/*.mjs", "**/*.cjs"],
    languageOptions: { globals: Object.fromEntries(names.map((name) => [name, "readonly"])) },
    rules: { "max-len": ["error", { code: 120 }] },
  },
);
