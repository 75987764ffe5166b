/** What a key may be that the operator chooses (SLUICE_API_KEY, SLUICE_MANAGEMENT_KEY). */

/** Longest key that is looked at. */
export const LONGEST_KEY = 512

export const FIXED_KEY = new RegExp(`^[\\x21-\\x7e]{16,${LONGEST_KEY}}$`)

/** The same as the end of a sentence. */
export const FIXED_KEY_RULE = `must be 16 to ${LONGEST_KEY} printable ASCII characters without spaces`
