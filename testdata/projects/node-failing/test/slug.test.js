import assert from "node:assert/strict";
import { test } from "node:test";

import { slug } from "../src/slug.js";

test("joins words with single dashes", () => {
  assert.equal(slug("  One,  two & three "), "one-two-three");
});

test("drops accents", () => {
  assert.equal(slug("Crème brûlée!"), "creme-brulee");
});

test("refuses what is not a string", () => {
  assert.throws(() => slug(null), { name: "TypeError", message: /not null/ });
});
