import assert from "node:assert/strict";
import { test } from "node:test";

import { slug } from "../src/slug.js";

test("spells out the sharp s", () => {
  assert.equal(slug("Straße"), "strasse", "the sharp s is not spelled out yet");
});
