/** Turns a title into the last part of an address: `Crème brûlée!` becomes `creme-brulee`. */
export function slug(title) {
  if (typeof title !== "string") {
    throw new TypeError(`a title is a string, not ${title === null ? "null" : typeof title}`);
  }
  return title
    .normalize("NFKD")
    .replace(/\p{Mark}/gu, "")
    .toLowerCase()
    .replace(/[^\p{Letter}\p{Number}]+/gu, "-")
    .replace(/^-+|-+$/g, "");
}
