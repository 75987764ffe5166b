/** Most characters of an address that is looked for: page and model may both be made so that looking takes long. */
const LONGEST = 512

/** Where a text names an address; -1 where it does not, or where that is too long to be looked for. */
export function placeOfAddress(text: string, url: string): number {
  return url.length > LONGEST ? -1 : text.indexOf(url)
}
