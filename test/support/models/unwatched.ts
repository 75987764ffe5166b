/** The live feed of an accounting that nobody watches. */
export const UNWATCHED = { recordOpen: () => {}, recordClosed: () => {} }
