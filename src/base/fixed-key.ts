/** What a key may be that the operator chooses (SLUICE_API_KEY, SLUICE_MANAGEMENT_KEY). */

/** The store keeps a plain hash of a key, so it has to be too long to be found by trying. */
const SHORTEST_KEY = 32
/** Longest key that is looked at. */
export const LONGEST_KEY = 512

export const FIXED_KEY_PATTERN = new RegExp(`^[\\x21-\\x7e]{${SHORTEST_KEY},${LONGEST_KEY}}$`)

/** The same as the end of a sentence. */
export const FIXED_KEY_RULE = `must be ${SHORTEST_KEY} to ${LONGEST_KEY} printable ASCII characters without spaces`
