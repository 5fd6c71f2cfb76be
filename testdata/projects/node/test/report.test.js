import { writeFile } from "node:fs/promises";
import { test } from "node:test";

import { slug } from "../src/slug.js";

// The report is a file of the project: who reads it later sees what the last
// test run made of some titles.
test("writes the report", async () => {
  const titles = ["One, two & three", "Crème brûlée!", "100 % cotton"];
  const report = titles.map((title) => `${title} -> ${slug(title)}\n`).join("");
  await writeFile(new URL("../report.txt", import.meta.url), report);
});
